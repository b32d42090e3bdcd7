package rental

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/protocol"
)

// together calls f n times at once.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-gate
			f(i)
		})
	}
	close(gate)
	wg.Wait()
}

func TestOneGPUForTwoHundred(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	const n = 200
	who, quotes := make([]account.Identity, n), make([]string, n)
	for i := range n {
		who[i] = w.customer(10 * money.USDC)
		quotes[i] = w.quote(who[i], 1)
	}
	errs := make([]error, n)
	together(n, func(i int) {
		_, errs[i] = w.Start(context.Background(), w.now, who[i], Order{QuoteID: quotes[i], IdemKey: "k", Image: "ubuntu"})
	})
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !fault.Is(err, "offer_gone") {
			t.Errorf("got %v", err)
		}
	}
	claims, err := db.Value[int](t.Context(), w.d, `SELECT count(*) FROM claim`)
	if won != 1 || claims != 1 || err != nil {
		t.Fatalf("%d rentals, %d claims, %v", won, claims, err)
	}
	held, err := db.Value[money.Micro](t.Context(), w.d, `SELECT sum(balance)::bigint FROM ledger_account WHERE code LIKE 'hold:%'`)
	if err != nil || held != rate {
		t.Errorf("held %d, %v", held, err)
	}
}

func TestDoubleClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	c := w.customer(100 * money.USDC)
	o := Order{QuoteID: w.quote(c, 1), IdemKey: "k", Image: "ubuntu", Env: map[string]string{"A": "1"}}
	ids := make([]string, 20)
	together(len(ids), func(i int) {
		r, err := w.Start(context.Background(), w.now.Add(time.Duration(i)*time.Second), c, o)
		if err != nil {
			t.Error(err)
		}
		ids[i] = r.ID
	})
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Fatalf("rentals %v", ids)
		}
	}
	w.now = w.now.Add(time.Minute)
	if held := w.balance(ledger.Hold(c.Account.ID, ids[0])); held != rate {
		t.Errorf("held %d", held)
	}
	// Also long after the quote has expired.
	r, err := w.Start(t.Context(), w.now.Add(time.Hour), c, o)
	if err != nil || r.ID != ids[0] {
		t.Errorf("again: %+v, %v", r, err)
	}
	other := o
	other.Image = "debian"
	if _, err := w.Start(t.Context(), w.now, c, other); !fault.Is(err, "key_reused") {
		t.Errorf("another content: %v", err)
	}
	// The same key for another quote, at the same moment.
	a, b := w.quote(c, 1), w.quote(c, 1)
	errs := make([]error, 2)
	together(2, func(i int) {
		_, errs[i] = w.Start(context.Background(), w.now, c, Order{QuoteID: []string{a, b}[i], IdemKey: "k2", Image: "ubuntu"})
	})
	if (errs[0] == nil) == (errs[1] == nil) || errs[0] != nil && !fault.Is(errs[0], "key_reused") || errs[1] != nil && !fault.Is(errs[1], "key_reused") {
		t.Errorf("got %v and %v", errs[0], errs[1])
	}
}

func TestQuotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	c := w.customer(100 * money.USDC)
	q := w.quote(c, 1)
	try := func(who account.Identity, at time.Time, o Order) error {
		_, err := w.Start(t.Context(), at, who, o)
		return err
	}
	if err := try(w.customer(0), w.now, Order{QuoteID: q, IdemKey: "a", Image: "ubuntu"}); !fault.Is(err, "quote_not_found") {
		t.Errorf("somebody else's: %v", err)
	}
	if err := try(c, w.now.Add(2*time.Minute), Order{QuoteID: q, IdemKey: "a", Image: "ubuntu"}); !fault.Is(err, "quote_expired") {
		t.Errorf("expired: %v", err)
	}
	if err := try(c, w.now, Order{QuoteID: q, IdemKey: "a", Image: "ubuntu"}); err != nil {
		t.Fatal(err)
	}
	if err := try(c, w.now, Order{QuoteID: q, IdemKey: "b", Image: "ubuntu"}); !fault.Is(err, "quote_used") {
		t.Errorf("used: %v", err)
	}
	q = w.quote(c, 1)
	w.exec(`UPDATE gpu SET fault = 'Xid 79'`)
	if err := try(c, w.now, Order{QuoteID: q, IdemKey: "c", Image: "ubuntu"}); !fault.Is(err, "offer_gone") {
		t.Errorf("broken meanwhile: %v", err)
	}
	viewer := c
	viewer.Role = "viewer"
	if err := try(viewer, w.now, Order{QuoteID: q, IdemKey: "d", Image: "ubuntu"}); !fault.Is(err, "viewers_only_look") {
		t.Errorf("viewer: %v", err)
	}
}

func TestOrders(t *testing.T) {
	many := map[string]string{}
	for i := range 65 {
		many["V"+strings.Repeat("X", i)] = ""
	}
	for name, x := range map[string]struct {
		change func(*Order)
		code   string
	}{
		"fine":       {func(o *Order) { o.Image = "ghcr.io/a/b@sha256:" + strings.Repeat("a", 64) }, ""},
		"no key":     {func(o *Order) { o.IdemKey = "" }, "key_required"},
		"no image":   {func(o *Order) { o.Image = " " }, "image_required"},
		"image":      {func(o *Order) { o.Image = "Ubuntu Linux" }, "image_invalid"},
		"identifier": {func(o *Order) { o.Image = strings.Repeat("a", 64) }, "image_invalid"},
		"registry":   {func(o *Order) { o.Image = "registry.example.org:5000/team/image:1.0" }, ""},
		"option":     {func(o *Order) { o.Image = "--privileged" }, "image_invalid"},
		"arguments":  {func(o *Order) { o.Command = make([]string, 65) }, "command_long"},
		"long":       {func(o *Order) { o.Command = []string{strings.Repeat("a", 4097)} }, "command_long"},
		"zero byte":  {func(o *Order) { o.Command = []string{"a\x00"} }, "command_invalid"},
		"preload":    {func(o *Order) { o.Env = map[string]string{"LD_PRELOAD": "x"} }, "env_forbidden"},
		"devices":    {func(o *Order) { o.Env = map[string]string{"nvidia_visible_devices": "all"} }, "env_forbidden"},
		"name":       {func(o *Order) { o.Env = map[string]string{"1A": "x"} }, "env_invalid"},
		"many":       {func(o *Order) { o.Env = many }, "env_many"},
		"spend":      {func(o *Order) { o.MaxSpend = -1 }, "max_spend_invalid"},
		"duration":   {func(o *Order) { o.MaxDuration = -1 }, "max_hours_invalid"},
		"too little": {func(o *Order) { o.MaxDuration = time.Microsecond }, "max_hours_invalid"},
	} {
		o := Order{QuoteID: "q", IdemKey: "k", Image: "ubuntu:24.04"}
		x.change(&o)
		if err := o.check(); x.code == "" && err != nil || x.code != "" && !fault.Is(err, x.code) {
			t.Errorf("%s: got %v, want %q", name, err, x.code)
		}
	}
}

// The database itself forbids what the code never tries.
func TestDatabaseRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	c := w.customer(100 * money.USDC)
	r := w.rent(c, 1)
	w.must(w.beat(protocol.Status{Rental: r.ID, Phase: protocol.PhaseFailed, Code: protocol.FailImage}))
	w.now = w.now.Add(time.Second)
	s := w.rent(c, 1)
	for name, x := range map[string]struct{ sql, constraint string }{
		"second claim":  {`INSERT INTO claim SELECT '` + r.ID + `x', gpu_id, during FROM claim WHERE rental_id = '` + s.ID + `'`, gpuLetOnce},
		"past claim":    {`UPDATE claim SET during = tstzrange('2026-01-01', NULL) WHERE rental_id = '` + r.ID + `'`, gpuLetOnce},
		"quote twice":   {`UPDATE rental SET quote_id = (SELECT quote_id FROM rental WHERE id = '` + r.ID + `') WHERE id = '` + s.ID + `'`, quoteOnce},
		"no reason":     {`UPDATE rental SET end_reason = NULL WHERE id = '` + r.ID + `'`, "rental_check"},
		"unknown state": {`UPDATE rental SET state = 'gone' WHERE id = '` + s.ID + `'`, "rental_state_check"},
		"negative hold": {`UPDATE ledger_account SET balance = -1 WHERE code = 'hold:` + s.ID + `'`, "ledger_floor"},
	} {
		_, err := w.d.Exec(t.Context(), x.sql)
		if !violates(err, x.constraint) && !(x.constraint == "rental_check" && err != nil) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A clock that was read before the GPU came free makes no claim that overlaps the one before.
func TestClaimFollowsTheOneBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	c := w.customer(100 * money.USDC)
	r := w.rent(c, 1)
	before := w.now
	w.now = w.now.Add(time.Minute)
	w.must(w.beat(protocol.Status{Rental: r.ID, Phase: protocol.PhaseFailed, Code: protocol.FailImage}))
	q := w.quote(c, 1)
	if _, err := w.Start(t.Context(), before.Add(time.Second), c, Order{QuoteID: q, IdemKey: q, Image: "ubuntu"}); err != nil {
		t.Fatal(err)
	}
}

// Starts, ends, sweeps, heartbeats and test money at once: nothing is lost, nothing waits in a circle for long.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	c := w.customer(1000 * money.USDC)
	var rs []Rental
	for range 3 {
		rs = append(rs, w.rent(c, 1))
	}
	w.must(w.beat(is(rs[0], protocol.PhaseRunning), is(rs[1], protocol.PhaseRunning), is(rs[2], protocol.PhaseRunning)))
	w.now = w.now.Add(20 * time.Second)
	w.must(w.beat(is(rs[0], protocol.PhaseRunning), is(rs[1], protocol.PhaseRunning), is(rs[2], protocol.PhaseRunning)))
	w.now = w.now.Add(10 * time.Second)
	later := w.now.Add(5 * time.Minute)
	q := w.quote(c, 1)
	do := []func() error{
		func() error { return w.beat(is(rs[0], protocol.PhaseRunning), is(rs[1], protocol.PhaseExited)) },
		func() error { return w.beat(is(rs[0], protocol.PhaseRunning), is(rs[1], protocol.PhaseExited)) },
		func() error { return w.Sweep(context.Background(), later) },
		func() error { _, err := w.Stop(context.Background(), w.now, c, rs[2].ID); return err },
		func() error {
			_, err := w.Start(context.Background(), w.now, c, Order{QuoteID: q, IdemKey: q, Image: "ubuntu"})
			return err
		},
		func() error { return w.l.GiveTestFunds(context.Background(), noon, "more", c.Account.ID, "x", 5) },
		func() error { _, err := w.Mature(context.Background(), w.now); return err },
		func() error { _, err := w.Earnings(context.Background(), w.now, w.owner.Account.ID); return err },
	}
	together(len(do)*4, func(i int) {
		if err := do[i%len(do)](); err != nil {
			t.Error(err)
		}
	})
	if got := w.get(rs[1]); got.State != Ended || got.BilledMS != 30_000 {
		t.Errorf("exited: %+v", got)
	}
	if got := w.get(rs[0]); got.State != Running || got.BilledMS != 30_000 {
		t.Errorf("running: %+v", got)
	}
}
