package rental

import (
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/protocol"
)

func TestHostLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	c := w.customer(100 * money.USDC)
	r, s := w.rent(c, 1), w.rent(c, 1)
	w.must(w.beat(is(r, protocol.PhaseRunning), is(s, protocol.PhaseRunning)))
	w.now = w.now.Add(10 * time.Second)
	w.must(w.beat(is(r, protocol.PhaseRunning), is(s, protocol.PhaseRunning)))
	if _, err := w.Stop(t.Context(), w.now, c, s.ID); err != nil {
		t.Fatal(err)
	}
	// Back within ten minutes: it goes on, unbilled for the gap.
	w.now = w.now.Add(9 * time.Minute)
	w.must(w.Sweep(t.Context(), w.now))
	w.must(w.beat(is(r, protocol.PhaseRunning), is(s, protocol.PhaseRunning)))
	w.now = w.now.Add(10 * time.Second)
	w.must(w.beat(is(r, protocol.PhaseRunning), is(s, protocol.PhaseRunning)))
	if got := w.get(r); got.State != Running || got.BilledMS != 20_000 {
		t.Fatalf("after the gap: %+v", got)
	}
	w.now = w.now.Add(10*time.Minute + time.Second)
	w.must(w.Sweep(t.Context(), w.now))
	if got := w.get(r); got.EndReason != HostOffline || got.Attributed != "provider" || got.BilledMS != 20_000 {
		t.Errorf("lost: %+v", got)
	}
	if got := w.get(s); got.EndReason != StoppedByCustomer || got.BilledMS != 10_000 {
		t.Errorf("lost while stopping: %+v", got)
	}
}

// A platform that was away itself has heard nobody: that is no host's fault.
func TestPlatformAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	r := w.rent(w.customer(100*money.USDC), 1)
	w.must(w.beat(is(r, protocol.PhaseRunning)))
	w.now = w.now.Add(time.Hour)
	w.restart()
	w.must(w.Sweep(t.Context(), w.now))
	if got := w.get(r); got.State != Running {
		t.Fatalf("ended by the platform's own absence: %+v", got)
	}
	w.must(w.beat(is(r, protocol.PhaseRunning)))
	if got := w.get(r); got.State != Running || got.BilledMS != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestStartTakesTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	r := w.rent(w.customer(100*money.USDC), 1)
	for range 181 {
		w.now = w.now.Add(10 * time.Second)
		w.must(w.beat(is(r, protocol.PhasePulling)))
		w.must(w.Sweep(t.Context(), w.now))
	}
	if got := w.get(r); got.State != Stopping || got.StopReason != HostFault {
		t.Fatalf("got %+v", got)
	}
	w.must(w.beat(is(r, protocol.PhaseRunning))) // too late: not billed
	w.now = w.now.Add(5 * time.Second)
	w.must(w.beat(is(r, protocol.PhaseStopped)))
	if got := w.get(r); got.EndReason != HostFault || got.Charged != 0 || got.BilledMS != 0 {
		t.Errorf("ended: %+v", got)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	r := w.rent(w.customer(100*money.USDC), 1)
	w.must(w.beat()) // not yet begun
	w.must(w.beat(is(r, protocol.PhaseRunning)))
	old := protocol.Heartbeat{Applied: 1, Complete: true} // has not heard of it
	blind := protocol.Heartbeat{Applied: 99}
	for range 10 {
		w.now = w.now.Add(30 * time.Second)
		w.must(w.Observe(t.Context(), w.now, w.host, old))
		w.must(w.Observe(t.Context(), w.now, w.host, blind))
	}
	w.must(w.beat())
	w.now = w.now.Add(50 * time.Second)
	w.must(w.beat())
	w.must(w.beat(is(r, protocol.PhaseRunning))) // there it is
	w.now = w.now.Add(50 * time.Second)
	w.must(w.beat())
	if got := w.get(r); got.State != Running {
		t.Fatalf("ended too early: %+v", got)
	}
	w.now = w.now.Add(59 * time.Second)
	w.must(w.beat())
	if got := w.get(r); got.State != Running {
		t.Fatalf("ended too early: %+v", got)
	}
	w.now = w.now.Add(time.Second)
	w.must(w.beat())
	if got := w.get(r); got.EndReason != HostFault {
		t.Errorf("got %+v", got)
	}
}
