package rental

import (
	"strings"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/protocol"
)

func TestWholeLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8)
	c := w.customer(25 * money.USDC)
	avail := ledger.Available(c.Account.ID)
	r := w.rent(c, 2)
	hour := 2 * rate
	if r.State != Starting || r.ProviderID != w.owner.Account.ID || !r.Simulated || w.balance(avail) != 25*money.USDC-hour || w.balance(ledger.Hold(c.Account.ID, r.ID)) != hour {
		t.Fatalf("after the start: %+v, %s available", r, w.balance(avail))
	}
	want, err := w.Desired(t.Context(), w.d, w.host)
	if err != nil || len(want) != 1 || want[0].Want != protocol.WantRunning || len(want[0].GPUs) != 2 || want[0].CPUs != 15.2 || want[0].RAMMiB != 121_600 {
		t.Fatalf("desired: %+v, %v", want, err)
	}
	w.now = w.now.Add(2 * time.Second)
	w.must(w.beat(is(r, protocol.PhasePulling)))
	w.now = w.now.Add(2 * time.Second)
	w.must(w.beat(is(r, protocol.PhaseCreating)))
	w.now = w.now.Add(time.Second)
	w.must(w.beat(is(r, protocol.PhaseRunning)))
	if r = w.get(r); r.State != Running || r.BilledMS != 0 || !r.RunningAt.Equal(w.now) {
		t.Fatalf("running: %+v", r)
	}
	w.run(r, 92*time.Minute+3217*time.Millisecond)
	if r = w.get(r); r.BilledMS != 5_523_217 {
		t.Fatalf("billed %d ms", r.BilledMS)
	}
	live := r.Live(w.now.Add(1234*time.Millisecond), 30*time.Second)
	if exact, _ := money.Charge(rate, 2, 5_523_217+1234); live != exact {
		t.Errorf("live %d, want %d", live, exact)
	}
	if frozen := r.Live(w.now.Add(time.Hour), 30*time.Second); frozen >= live {
		t.Errorf("the charge grew to %d while the host was silent", frozen)
	}
	e, err := w.Earnings(t.Context(), w.now.Add(1234*time.Millisecond), w.owner.Account.ID)
	fee, _ := money.Fee(live, feeBPS)
	perHour, _ := money.Fee(hour, feeBPS)
	if err != nil || e.Total != live-fee || e.Week != e.Total || e.Month != e.Total || e.PerHour != hour-perHour || e.Earned+e.LiveOpen != e.Total {
		t.Errorf("earnings %+v, %v; want %d", e, err, live-fee)
	}
	if len(e.ByGPU) != 2 || e.ByGPU[0].Micro+e.ByGPU[1].Micro != e.Total || len(e.ByModel) != 1 || e.ByModel[0].Micro != e.Total ||
		e.ByModel[0].MS != 2*(5_523_217+1234) || len(e.Days) != 90 || e.Days[89].Micro != e.Total {
		t.Errorf("slices: %+v %+v", e.ByGPU, e.ByModel)
	}

	// The click comes between two heartbeats: up to it is billed, not a millisecond more.
	w.now = w.now.Add(4 * time.Second)
	for range 2 {
		if r, err = w.Stop(t.Context(), w.now, c, r.ID); err != nil || r.State != Stopping || r.StopReason != StoppedByCustomer {
			t.Fatalf("stop: %+v, %v", r, err)
		}
	}
	if want, err = w.Desired(t.Context(), w.d, w.host); err != nil || len(want) != 1 || want[0].Want != protocol.WantStopped {
		t.Fatalf("desired while stopping: %+v, %v", want, err)
	}
	w.now = w.now.Add(3 * time.Second)
	w.must(w.beat(is(r, protocol.PhaseRunning)))
	w.now = w.now.Add(time.Second)
	w.must(w.beat(is(r, protocol.PhaseStopped)))
	w.must(w.beat(is(r, protocol.PhaseStopped)))
	w.must(w.beat(is(r, protocol.PhaseRunning))) // late
	r = w.get(r)
	total, _ := money.Charge(rate, 2, 5_523_217+4000)
	if r.State != Ended || r.EndReason != StoppedByCustomer || r.Attributed != "customer" || r.BilledMS != 5_523_217+4000 || r.Charged != total {
		t.Fatalf("ended: %+v, want %d", r, total)
	}
	if r, err = w.Stop(t.Context(), w.now, c, r.ID); err != nil || r.State != Ended {
		t.Errorf("stopping an ended rental: %+v, %v", r, err)
	}
	fee, _ = money.Fee(total, feeBPS)
	if got := w.balance(avail); got != 25*money.USDC-total {
		t.Errorf("the customer has %s left", got)
	}
	if w.balance(ledger.Earned(w.owner.Account.ID)) != total-fee || w.balance(ledger.Fees()) != fee {
		t.Errorf("provider %d and fee %d of %d", w.balance(ledger.Earned(w.owner.Account.ID)), w.balance(ledger.Fees()), total)
	}
	if want, err = w.Desired(t.Context(), w.d, w.host); err != nil || len(want) != 0 {
		t.Errorf("desired after the end: %+v, %v", want, err)
	}
	events, err := w.Events(t.Context(), r.ID)
	var said []string
	for _, e := range events {
		said = append(said, e.State+" "+e.Detail)
	}
	if got := strings.Join(said, "; "); err != nil || got != "starting ; starting pulling; starting creating; running ; stopping stopped_by_customer; ended stopped_by_customer" {
		t.Errorf("events: %s, %v", got, err)
	}

	// A day later it is payable, once.
	w.now = w.now.Add(24 * time.Hour)
	m, err := w.Mature(t.Context(), w.now)
	if err != nil || m != total-fee || w.balance(ledger.Payable(w.owner.Account.ID)) != m || w.balance(ledger.Earned(w.owner.Account.ID)) != 0 {
		t.Errorf("matured %d, %v; want %d", m, err, total-fee)
	}
	if m, err = w.Mature(t.Context(), w.now); err != nil || m != 0 {
		t.Errorf("matured again: %d, %v", m, err)
	}
	// The same GPUs can be let again at once.
	w.must(w.beat())
	w.rent(c, 8)
}

func TestShortOfFunds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	c := w.customer(rate - 1)
	q := w.quote(c, 1)
	_, err := w.Start(t.Context(), w.now, c, Order{QuoteID: q, IdemKey: "k", Image: "ubuntu"})
	f, ok := fault.As(err)
	if !ok || f.Code != "funds_short" || f.Args["need"] != "2.190000" || f.Args["have"] != "2.189999" {
		t.Fatalf("got %v", err)
	}
	if n, err := db.Value[int](t.Context(), w.d, `SELECT (SELECT count(*) FROM claim) + (SELECT count(*) FROM rental)`); err != nil || n != 0 {
		t.Fatalf("%d rows are left, %v", n, err)
	}
	// The rental's own maximum can be paid.
	r := w.rent(c, 1, func(o *Order) { o.MaxDuration = 10 * time.Minute })
	if held := w.balance(ledger.Hold(c.Account.ID, r.ID)); held != rate/6 {
		t.Errorf("held %s", held)
	}
}

func TestFundsRunOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	c := w.customer(rate + rate/4) // an hour and a quarter
	r := w.rent(c, 1)
	w.must(w.beat(is(r, protocol.PhaseRunning)))
	w.run(r, 64*time.Minute)
	if got := w.get(r); got.WarnedAt != nil || got.State != Running {
		t.Fatalf("warned too early: %+v", got)
	}
	w.run(r, 5*time.Minute)
	if got := w.get(r); got.WarnedAt == nil || got.State != Running {
		t.Fatalf("not warned: %+v", got)
	}
	w.run(r, 10*time.Minute)
	got := w.get(r)
	if got.State != Stopping || got.StopReason != FundsExhausted {
		t.Fatalf("not stopped: %+v", got)
	}
	if early := noon.Add(75 * time.Minute).Sub(*got.StopAt); early < 0 || early > 45*time.Second {
		t.Errorf("stopped %s before its money ends", early)
	}
	w.must(w.beat(is(r, protocol.PhaseStopped)))
	got = w.get(r)
	if got.EndReason != FundsExhausted || w.balance(ledger.Available(c.Account.ID))+got.Charged != rate+rate/4 {
		t.Errorf("ended: %+v", got)
	}
	if n, err := db.Value[int](t.Context(), w.d, `SELECT count(*) FROM rental_event WHERE detail = 'funds_low'`); err != nil || n != 1 {
		t.Errorf("warned %d times, %v", n, err)
	}
}

// A host that never stops a workload is paid no more than the customer has.
func TestNeverBelowZero(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	c := w.customer(rate)
	r := w.rent(c, 1)
	w.must(w.beat(is(r, protocol.PhaseRunning)))
	for range 800 { // no sweep: nobody stops it
		w.now = w.now.Add(10 * time.Second)
		w.must(w.beat(is(r, protocol.PhaseRunning)))
	}
	if got := w.get(r); got.BilledMS != 3_600_001 { // the millisecond that the last floor gives away
		t.Errorf("billed %d ms", got.BilledMS)
	}
	w.must(w.beat(protocol.Status{Rental: r.ID, Phase: protocol.PhaseExited}))
	if got := w.get(r); got.Charged != rate || got.State != Ended {
		t.Errorf("ended: %+v", got)
	}
}

func TestMaximum(t *testing.T) {
	for name, change := range map[string]func(*Order){
		"duration": func(o *Order) { o.MaxDuration = 90 * time.Minute },
		"spend":    func(o *Order) { o.MaxSpend = rate + rate/2 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			c := w.customer(rate + rate/2) // exactly: no warning
			r := w.rent(c, 1, change)
			w.must(w.beat(is(r, protocol.PhaseRunning)))
			w.run(r, 91*time.Minute)
			if got := w.get(r); got.State != Stopping || got.StopReason != MaximumReached || got.WarnedAt != nil {
				t.Fatalf("got %+v", got)
			}
			w.must(w.beat(is(r, protocol.PhaseStopped)))
			if got := w.get(r); got.EndReason != MaximumReached || got.Charged != rate+rate/2 || got.BilledMS/10 != 540_000 {
				t.Errorf("ended: %+v", got)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	code := func(n int) *int { return &n }
	for name, x := range map[string]struct {
		status     protocol.Status
		running    bool
		reason     Reason
		attributed string
		billed     int64
	}{
		"completed":     {protocol.Status{Phase: protocol.PhaseExited, ExitCode: code(0)}, true, Completed, "customer", 5000},
		"failed":        {protocol.Status{Phase: protocol.PhaseExited, ExitCode: code(137)}, true, WorkloadFailed, "customer", 5000},
		"lost":          {protocol.Status{Phase: protocol.PhaseLost}, true, HostFault, "provider", 0},
		"stopped there": {protocol.Status{Phase: protocol.PhaseStopped}, true, HostFault, "provider", 0},
		"no image":      {protocol.Status{Phase: protocol.PhaseFailed, Code: protocol.FailImage}, false, ImageCannotStart, "customer", 0},
		"no command":    {protocol.Status{Phase: protocol.PhaseFailed, Code: protocol.FailCommand}, false, ImageCannotStart, "customer", 0},
		"refused":       {protocol.Status{Phase: protocol.PhaseFailed, Code: protocol.FailRefused}, false, HostFault, "provider", 0},
		"engine":        {protocol.Status{Phase: protocol.PhaseFailed, Code: protocol.FailEngine}, false, HostFault, "provider", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			c := w.customer(10 * money.USDC)
			r := w.rent(c, 1)
			if x.running {
				w.must(w.beat(is(r, protocol.PhaseRunning)))
			}
			w.now = w.now.Add(5 * time.Second)
			x.status.Rental, x.status.Message = r.ID, "why\x00\xff"
			w.must(w.beat(x.status))
			got := w.get(r)
			if got.State != Ended || got.EndReason != x.reason || got.Attributed != x.attributed || got.BilledMS != x.billed || got.Message != "why\uFFFD\uFFFD" {
				t.Errorf("got %+v", got)
			}
			if w.balance(ledger.Available(c.Account.ID))+got.Charged != 10*money.USDC {
				t.Errorf("money is missing")
			}
		})
	}
}

func TestForeignReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	r := w.rent(w.customer(100*money.USDC), 1)
	mine := w.host
	w.host = w.newHost(1)
	w.must(w.beat(is(r, protocol.PhaseRunning), is(Rental{ID: "rnt_unknown"}, protocol.PhaseLost)))
	if got := w.get(r); got.State != Starting {
		t.Errorf("another host changed it: %+v", got)
	}
	reply, err := w.AppendLog(t.Context(), w.host, protocol.LogChunk{Rental: r.ID})
	if err != nil || reply.Next >= 0 {
		t.Errorf("another host's log: %+v, %v", reply, err)
	}
	w.host = mine
	w.must(w.beat(is(r, protocol.PhaseRunning)))
	if got := w.get(r); got.State != Running {
		t.Errorf("got %+v", got)
	}
}

// A host that never says that it has stopped keeps nobody's money.
func TestStoppingHasALimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	c := w.customer(10 * money.USDC)
	r := w.rent(c, 1)
	w.must(w.beat(is(r, protocol.PhaseRunning)))
	w.run(r, time.Minute)
	_, err := w.Stop(t.Context(), w.now, w.owner, r.ID)
	w.must(err)
	if r = w.get(r); r.StopReason != ProviderStopped {
		t.Errorf("got %+v", r)
	}
	_, err = w.Stop(t.Context(), w.now, c, r.ID)
	w.must(err)
	if live := r.Live(w.now.Add(20*time.Second), 30*time.Second); live != rate/60 {
		t.Errorf("live after the stop: %d", live)
	}
	w.run(r, 30*time.Minute)
	if got := w.get(r); got.State != Stopping || got.BilledMS != 60_000 {
		t.Fatalf("got %+v", got)
	}
	w.run(r, 10*time.Second)
	if got := w.get(r); got.EndReason != ProviderStopped || got.Attributed != "provider" || got.Charged != rate/60 {
		t.Errorf("got %+v", got)
	}
}

func TestWhoMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	c, stranger := w.customer(10*money.USDC), w.customer(0)
	r := w.rent(c, 1)
	operator := stranger
	operator.Account.Operator = true
	for name, x := range map[string]struct {
		who       account.Identity
		get, stop bool
	}{
		"stranger": {stranger, false, false}, "operator": {operator, true, false}, "provider": {w.owner, true, true}, "customer": {c, true, true},
	} {
		if _, err := w.Get(t.Context(), x.who, r.ID); x.get != (err == nil) || err != nil && !fault.Is(err, "rental_not_found") {
			t.Errorf("%s gets: %v", name, err)
		}
		if !x.stop {
			if _, err := w.Stop(t.Context(), w.now, x.who, r.ID); !fault.Is(err, "rental_not_found") {
				t.Errorf("%s stops: %v", name, err)
			}
		}
	}
	if _, err := w.Get(t.Context(), c, "rnt_x"); !fault.Is(err, "rental_not_found") {
		t.Errorf("got %v", err)
	}
	if list, err := w.List(t.Context(), c, 10); err != nil || len(list) != 1 {
		t.Errorf("list: %v, %v", list, err)
	}
	if list, err := w.OnHosts(t.Context(), w.owner.Account.ID); err != nil || len(list) != 1 {
		t.Errorf("on hosts: %v, %v", list, err)
	}
	if list, err := w.OnHosts(t.Context(), c.Account.ID); err != nil || len(list) != 0 {
		t.Errorf("on hosts of a customer: %v, %v", list, err)
	}
}

func TestWeeksBeginOnMonday(t *testing.T) {
	for day := range 14 {
		d := time.Date(2026, 11, 23+day, 0, 0, 0, 0, time.UTC)
		want := time.Date(2026, 11, 23+day/7*7, 0, 0, 0, 0, time.UTC)
		if got := monday(d); !got.Equal(want) {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}
