package sim

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/db/dbtest"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "seed of the one world to run; 0 runs the usual ones")
	stepsFlag = flag.Int("steps", 150, "random steps of each world")
	hostsFlag = flag.Int("hosts", 4, "simulated hosts of each world")
)

func newWorld(t *testing.T, seed uint64, hosts int) *World {
	t.Helper()
	_, url := dbtest.NewURL(t)
	w, err := New(t.Context(), Config{Seed: seed, Hosts: hosts, URL: url, Dir: t.TempDir()})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	t.Cleanup(w.Close)
	return w
}

func TestWorld(t *testing.T) {
	seeds := []uint64{1, 2, 3}
	if *seedFlag != 0 {
		seeds = []uint64{*seedFlag}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			fmt.Printf("sim seed=%d steps=%d hosts=%d\n", seed, *stepsFlag, *hostsFlag)
			w := newWorld(t, seed, *hostsFlag)
			if err := w.Run(t.Context(), *stepsFlag); err != nil {
				report(t, w, err)
			}
			t.Logf("%s of virtual time, %d rentals: %s; payouts: %d paid, %d returned; at most %s billed beside what ran",
				w.clock(), len(w.rentals), w.census(), w.paid, w.returned, w.excess)
		})
	}
}

// report says what happened last and how to make it happen again.
func report(t *testing.T, w *World, err error) {
	t.Helper()
	t.Fatalf("%v\n\nagain: go test ./internal/sim -run 'TestWorld$' -count=1 -args -seed=%d -steps=%d -hosts=%d\n\n%s",
		err, w.cfg.Seed, *stepsFlag, w.cfg.Hosts, strings.Join(lastSteps(w.Trace(), 30), "\n"))
}

// lastSteps are the lines of the last n steps: what belongs to one is indented more.
func lastSteps(lines []string, n int) []string {
	for i, l := range slices.Backward(lines) {
		_, what, _ := strings.Cut(strings.TrimLeft(l, " "), "  ")
		_, what, _ = strings.Cut(what, "  ")
		if !strings.HasPrefix(what, " ") {
			if n--; n == 0 {
				return lines[i:]
			}
		}
	}
	return lines
}

// TestReplay: the same seed does the same things, whatever the identifiers are.
func TestReplay(t *testing.T) {
	var traces [2][]string
	for i := range traces {
		w := newWorld(t, 42, 3)
		for range 40 {
			if err := w.Step(t.Context()); err != nil {
				report(t, w, err)
			}
		}
		traces[i] = w.Trace()
	}
	for i := range min(len(traces[0]), len(traces[1])) {
		if traces[0][i] != traces[1][i] {
			t.Fatalf("line %d differs:\n%s\n%s", i, traces[0][i], traces[1][i])
		}
	}
	if len(traces[0]) != len(traces[1]) {
		t.Fatalf("one run has %d lines, the other %d", len(traces[0]), len(traces[1]))
	}
}

// TestInvariantsHaveTeeth breaks the database in every way that the invariants are for, and each must say so.
func TestInvariantsHaveTeeth(t *testing.T) {
	w := newWorld(t, 7, 3)
	for range 60 {
		if err := w.Step(t.Context()); err != nil {
			report(t, w, err)
		}
	}
	w.calm = true
	for _, m := range []struct{ name, want, sql string }{
		{"settlement posted twice", "money:", `INSERT INTO settlement (rental_id, n, provider_id, from_ms, to_ms, charge, fee, earned, at)
			SELECT rental_id, n + 1000, provider_id, from_ms, to_ms, charge, fee, earned, at FROM settlement WHERE charge > 0 LIMIT 1`},
		{"settlement lost", "money:", `DELETE FROM settlement WHERE ctid = (SELECT ctid FROM settlement WHERE charge > 0 LIMIT 1)`},
		{"fee in the provider's favour", "money:", `UPDATE settlement SET fee = fee - 1, earned = earned + 1 WHERE ctid = (SELECT ctid FROM settlement WHERE fee > 0 LIMIT 1)`},
		{"charge rounded up", "money:", `UPDATE rental SET charged = charged + 1 WHERE id = (SELECT id FROM rental WHERE charged > 0 LIMIT 1)`},
		{"time billed that didn't run", "time:", `UPDATE rental SET billed_ms = billed_ms + 86400000 WHERE id = (SELECT id FROM rental WHERE billed_ms > 0 LIMIT 1)`},
		{"time billed twice for one beat", "time:", `UPDATE rental SET billed_ms = billed_ms + 10000 WHERE id = (SELECT id FROM rental WHERE state = 'ended' AND billed_ms > 0 LIMIT 1)`},
		{"time forgotten", "past:", `UPDATE rental SET billed_ms = billed_ms - 1, settled_ms = least(settled_ms, billed_ms - 1) WHERE id = (SELECT id FROM rental WHERE billed_ms > 0 LIMIT 1)`},
		{"metered time not billed", "reports in time confirm", `UPDATE rental SET billed_ms = billed_ms - 1, settled_ms = least(settled_ms, billed_ms - 1) WHERE billed_ms > 0`},
		{"GPU let twice", "overlap:", `ALTER TABLE claim DROP CONSTRAINT gpu_let_once; INSERT INTO claim (rental_id, gpu_id, during)
			SELECT r.id, c.gpu_id, c.during FROM claim c JOIN rental r ON NOT EXISTS (SELECT FROM claim d WHERE d.rental_id = r.id AND d.gpu_id = c.gpu_id)
			WHERE NOT isempty(c.during) LIMIT 1`},
		{"claim left open", "claims:", `ALTER TABLE claim DROP CONSTRAINT gpu_let_once; UPDATE claim SET during = tstzrange('2100-01-01', NULL) WHERE rental_id = (SELECT id FROM rental WHERE state = 'ended' ORDER BY id LIMIT 1)`},
		{"money from nowhere", "customer", `UPDATE ledger_account SET balance = balance + 1 WHERE code LIKE 'customer:%'`},
		{"hold left", "still holds", `UPDATE ledger_account SET balance = 5 WHERE code = 'hold:' || (SELECT id FROM rental WHERE state = 'ended' AND charged > 0 LIMIT 1)`},
		{"earnings lost", "provider", `UPDATE ledger_account SET balance = balance - 1 WHERE code LIKE 'provider:%:earned' AND balance > 0`},
		{"fees lost", "fees:", `UPDATE ledger_account SET balance = balance - 1 WHERE code = 'platform:fees'`},
		{"rental undone", "past:", `UPDATE rental SET state = 'running', ended_at = NULL, end_reason = NULL, attributed = NULL WHERE id = (SELECT id FROM rental WHERE state = 'ended' LIMIT 1)`},
	} {
		t.Run(m.name, func(t *testing.T) {
			if err := w.Check(t.Context()); err != nil {
				t.Fatalf("before: %v", err)
			}
			past := w.past
			defer func() { w.past = past }()
			w.past = maps.Clone(past)
			err := broken(t.Context(), w, m.sql)
			if err == nil || !strings.Contains(err.Error(), m.want) {
				t.Fatalf("got %v, want an error with %q", err, m.want)
			}
		})
	}
	t.Run("drifted balance", func(t *testing.T) {
		if _, err := w.db.Exec(t.Context(), `UPDATE ledger_account SET balance = balance + 1 WHERE code = 'platform:test_funds'`); err != nil {
			t.Fatal(err)
		}
		if err := w.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "books:") {
			t.Fatalf("got %v", err)
		}
	})
}

// TestLyingLinkIsNoticed: hosts whose heartbeats say for ever that ended workloads run are billed, and the oracle of the
// true running time says so.
func TestLyingLinkIsNoticed(t *testing.T) {
	w := newWorld(t, 5, 3)
	for _, h := range w.hosts {
		h.wire.lie = true
	}
	for range 150 {
		err := w.Step(t.Context())
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), "time: billed") && !strings.Contains(err.Error(), "settled:") {
			t.Fatalf("another error: %v", err)
		}
		return
	}
	t.Fatal("nobody noticed")
}

// broken checks what a statement leaves behind, and undoes it.
func broken(ctx context.Context, w *World, sql string) error {
	var found error
	undo := errors.New("undo")
	err := w.db.InTx(ctx, func(tx db.Tx) error {
		for s := range strings.SplitSeq(sql, ";") {
			tag, err := tx.Exec(ctx, s)
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 && !strings.Contains(s, "ALTER") {
				return fmt.Errorf("it changed nothing: %s", s)
			}
		}
		found = w.check(ctx, tx)
		return undo
	})
	if !errors.Is(err, undo) {
		return fmt.Errorf("mutation failed: %w", err)
	}
	return found
}
