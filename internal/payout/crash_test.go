package payout_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/payout"
	"github.com/gpunex/gpunex/internal/payout/rail/simulated"
)

// crash is what a step panics with.
type crash struct{ step string }

// runUntilCrash is one process: it runs, and dies where the step says so. Errors of a rail are part of its life.
func runUntilCrash(w *world, s *payout.Service, now time.Time) (crashed string) {
	defer func() {
		if c, ok := recover().(crash); ok {
			crashed = c.step
		}
	}()
	_, _ = s.Run(w.t.Context(), now)
	return ""
}

// TestCrashAtEveryStep kills the process at each durable step in turn, starts it anew, and finds each payout paid once.
func TestCrashAtEveryStep(t *testing.T) {
	setUp := func(t *testing.T) *world {
		w := newWorld(t)
		for i := range 3 {
			w.provider(fmt.Sprint("acc_", i), money.Micro(60+i)*money.USDC)
		}
		w.provider("acc_m", 70*money.USDC)
		if err := w.set(w.service(), "acc_m", payout.Setting{Schedule: "monthly", Rail: "simulated", Destination: "m"}); err != nil {
			t.Fatal(err)
		}
		return w
	}
	var names []string
	w := setUp(t)
	s := w.service()
	s.OnStep(func(name string) { names = append(names, name) })
	w.run(s, monday)
	w.checkFinished(4, 253*money.USDC)
	if len(names) < 40 {
		t.Fatalf("only %d steps: %q", len(names), names)
	}

	for n, name := range names {
		t.Run(fmt.Sprintf("%02d %s", n, name), func(t *testing.T) {
			t.Parallel()
			w := setUp(t)
			s := w.service()
			left := n
			s.OnStep(func(name string) {
				if left--; left < 0 {
					panic(crash{name})
				}
			})
			if got := runUntilCrash(w, s, monday); got != name {
				t.Fatalf("crashed at %q, want %q", got, name)
			}
			w.check()
			w.mature("acc_0", money.USDC) // life goes on between the crash and the restart
			later := monday.Add(time.Hour)
			w.run(w.service(), later)
			w.check()
			paid := w.sum(`SELECT sum(micro)::bigint FROM payout WHERE state = 'paid'`)
			w.checkFinished(4, paid)
			if owed := w.balance(ledger.Payable("acc_0")); paid+owed != 254*money.USDC || (owed != 0 && owed != money.USDC) {
				t.Errorf("paid %s, owed %s", paid, owed)
			}
			if again := w.run(w.service(), later); again.Planned+again.Paid+again.Open != 0 {
				t.Errorf("again: got %+v", again)
			}
		})
	}
}

// TestWorkersThatDie runs four workers on one database with a bad rail, each dying at random and starting anew.
func TestWorkersThatDie(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			const providers = 12
			var total money.Micro
			for i := range providers {
				w.provider(fmt.Sprintf("acc_%02d", i), money.Micro(50+i)*money.USDC)
				total += money.Micro(50+i) * money.USDC
			}
			rail := &flaky{Rail: simulated.New(w.db), before: 10, after: 10, lookFails: 10}
			var crashes atomic.Int64
			var wg sync.WaitGroup
			for worker := range uint64(4) {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(seed, worker))
					for life := range 12 {
						s := w.service(rail)
						left := 3 + r.IntN(40)
						s.OnStep(func(name string) {
							if left--; left < 0 {
								panic(crash{name})
							}
						})
						if runUntilCrash(w, s, monday.Add(time.Duration(life)*time.Minute)) != "" {
							crashes.Add(1)
						}
					}
				})
			}
			wg.Wait()
			w.check()
			*rail = flaky{Rail: rail.Rail}
			w.run(w.service(rail), monday.Add(time.Hour))
			w.checkFinished(providers, total)
			if crashes.Load() == 0 {
				t.Error("nobody died: the test proves nothing")
			}
		})
	}
}

// TestWorkersTogether runs four healthy workers at the same moment: each payout is planned and settled by one of them.
func TestWorkersTogether(t *testing.T) {
	w := newWorld(t)
	const providers = 30
	for i := range providers {
		w.provider(fmt.Sprintf("acc_%02d", i), 60*money.USDC)
	}
	var planned, paid atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			sum, err := w.service().Run(t.Context(), monday)
			if err != nil {
				t.Error(err)
			}
			planned.Add(int64(sum.Planned))
			paid.Add(int64(sum.Paid))
			if len(sum.Skipped) != 0 {
				t.Errorf("skipped %v", sum.Skipped)
			}
		})
	}
	wg.Wait()
	w.run(w.service(), monday)
	w.checkFinished(providers, providers*60*money.USDC)
	if planned.Load() != providers || paid.Load() > providers {
		t.Errorf("planned %d, paid %d", planned.Load(), paid.Load())
	}
}

// forgetful is a rail that breaks the contract: it moves money for every call, whatever the reference.
type forgetful struct {
	payout.Rail
	n atomic.Int64
}

func (f *forgetful) Send(ctx context.Context, now time.Time, p payout.Payout) error {
	err := f.Rail.Send(ctx, now, p)
	p.Reference = fmt.Sprint(p.Reference, "-", f.n.Add(1))
	return errors.Join(err, f.Rail.Send(ctx, now, p))
}

// TestCrashTestsHaveTeeth shows that a rail without idempotency is seen by what the tests above compare.
func TestCrashTestsHaveTeeth(t *testing.T) {
	w := newWorld(t)
	w.provider("acc_a", 60*money.USDC)
	rail := &forgetful{Rail: simulated.New(w.db)}
	s := w.service(rail)
	s.OnStep(func(name string) {
		if name == "sent" {
			panic(crash{name})
		}
	})
	runUntilCrash(w, s, monday)
	w.run(w.service(rail), monday)
	if moved := w.sum(`SELECT sum(micro)::bigint FROM simulated_transfer`); moved <= 60*money.USDC {
		t.Errorf("moved %s: the second transfer isn't seen", moved)
	}
}
