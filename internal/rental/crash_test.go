package rental

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/protocol"
)

var errCrash = errors.New("crashed here")

// A rental's life, crashing at the first, second and last time of each durable step in turn and doing again what was
// under way: money comes out as without a crash.
func TestCrashAtEachStep(t *testing.T) {
	times := liveWithCrash(t, "", 0)
	for _, step := range []string{"claimed", "started", "usage posted", "settled", "topped up", "claims closed", "released", "ended", "committed", "mature posted", "matured"} {
		if times[step] == 0 {
			t.Errorf("%q was never reached", step)
		}
	}
	for step, n := range times {
		crashes := map[int]bool{1: true, min(2, n): true, n: true}
		for k := range crashes {
			t.Run(fmt.Sprintf("%s %d", step, k), func(t *testing.T) {
				t.Parallel()
				liveWithCrash(t, step, k)
			})
		}
	}
}

// liveWithCrash crashes at the nth time of a step and gives how often each step was reached.
func liveWithCrash(t *testing.T, step string, n int) map[string]int {
	w := newWorld(t, 1)
	times := map[string]int{}
	crash := func(at string) error {
		times[at]++
		if at == step && times[at] == n {
			return errCrash
		}
		return nil
	}
	w.crashAt = crash
	again := func(f func() error) {
		t.Helper()
		err := f()
		if errors.Is(err, errCrash) {
			w.restart()
			w.crashAt = crash
			err = f()
		}
		w.must(err)
	}
	c := w.customer(10 * money.USDC)
	q := w.quote(c, 1)
	var r Rental
	again(func() (err error) {
		r, err = w.Start(t.Context(), w.now, c, Order{QuoteID: q, IdemKey: q, Image: "ubuntu"})
		return err
	})
	for range 31 {
		again(func() error { return w.beat(is(r, protocol.PhaseRunning)) })
		w.now = w.now.Add(20 * time.Second)
		again(func() error { return w.Sweep(t.Context(), w.now) })
	}
	again(func() error { _, err := w.Stop(t.Context(), w.now, c, r.ID); return err })
	again(func() error { return w.beat(is(r, protocol.PhaseStopped)) })
	w.now = w.now.Add(25 * time.Hour)
	again(func() error { _, err := w.Mature(t.Context(), w.now); return err })
	r = w.get(r)
	total, _ := money.Charge(rate, 1, 620_000)
	fee, _ := money.Fee(total, feeBPS)
	if r.State != Ended || r.Charged != total || w.balance(ledger.Available(c.Account.ID)) != 10*money.USDC-total ||
		w.balance(ledger.Payable(w.owner.Account.ID)) != total-fee || w.balance(ledger.Earned(w.owner.Account.ID)) != 0 {
		t.Errorf("crash at %q, time %d: %+v, want %d", step, n, r, total)
	}
	return times
}

// PostgreSQL understands every query on the schema as it is.
func TestQueriesPrepare(t *testing.T) {
	d := newWorld(t, 1).d
	for i, sql := range []string{
		sqlByID, sqlLock, sqlByKey, sqlOpen, sqlOpenHost, sqlOpenOf, sqlListOf, sqlInsert, sqlSave, sqlQuoteUsed, sqlInsertClaims, sqlCloseClaims,
		sqlClaimed, sqlInsertEvent, sqlEvents, sqlRequestedOn, sqlNextLine, sqlInsertLines, sqlLines, sqlInsertSettlement, sqlMaturing, sqlLockMature,
		sqlSetMature, sqlEarnedSince, sqlByRental, sqlByDay, sqlRentalGPUs, sqlHardware,
	} {
		if _, err := d.Exec(t.Context(), fmt.Sprintf("PREPARE q%d AS %s", i, sql)); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if strings.Contains(sql, "now()") {
			t.Errorf("reads the clock: %s", sql)
		}
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	r := w.rent(w.customer(10*money.USDC), 1)
	send := func(from, to int64) int64 {
		t.Helper()
		c := protocol.LogChunk{Rental: r.ID}
		for i := from; i < to; i++ {
			c.Lines = append(c.Lines, protocol.LogLine{Seq: i, At: w.now, Stream: "stdout", Text: fmt.Sprintf("line %d\x00\xff", i)})
		}
		reply, err := w.AppendLog(t.Context(), w.host, c)
		w.must(err)
		return reply.Next
	}
	for i, x := range []struct{ from, to, next int64 }{
		{0, 0, 0}, {0, 3, 3}, {0, 3, 3}, {2, 5, 5}, {7, 9, 5}, {0, 0, 5}, {5, 6, 6}, {6, 20_010, -1}, {0, 0, -1}, {20_000, 20_001, -1},
	} {
		if next := send(x.from, x.to); next != x.next {
			t.Errorf("%d: lines %d to %d: next is %d, want %d", i, x.from, x.to, next, x.next)
		}
	}
	lines, err := w.Logs(t.Context(), r.ID, 3, 2)
	if err != nil || len(lines) != 2 || lines[0].Seq != 4 || lines[1].Text != "line 5\uFFFD\uFFFD" {
		t.Errorf("got %+v, %v", lines, err)
	}
	if n, err := db.Value[int](t.Context(), w.d, `SELECT count(*) FROM rental_log`); err != nil || n != maxLines {
		t.Errorf("%d lines, %v", n, err)
	}
	w.exec(`DELETE FROM rental_log WHERE rental_id = $1`, r.ID)
	together(8, func(int) { send(0, 50) })
	if next := send(0, 0); next != 50 {
		t.Errorf("after eight at once: next is %d", next)
	}
}
