package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/money"
)

// Config is what a world is made from.
type Config struct {
	Seed      uint64
	Hosts     int
	Providers int    // 0: 3
	Customers int    // 0: 4
	URL       string // of a migrated, empty database
	Dir       string // for the hosts' state
}

// World is a platform, its hosts and its people at one virtual moment.
type World struct {
	cfg    Config
	db     *db.DB
	crash  *crasher
	p      *platform
	rng    *rand.Rand
	now    time.Time
	calm   bool // nothing goes wrong by chance
	step   int
	trace  []string
	oracle *oracle
	past   map[string]standing // how each rental stood at the last check

	operator  account.Identity
	providers []*seller
	customers []*buyer
	hosts     []*host
	rentals   []*let
	names     map[string]string // rental's identifier → its name in the trace
	excess    time.Duration     // the most that was billed beside what ran, for want of news
	paid      int               // payouts, as the runs said that lived to say it
	returned  int
	broken    error // what a host's call met that is no fault of the wire
}

// seller is a provider.
type seller struct {
	name string
	who  account.Identity
}

// buyer is a customer with test money.
type buyer struct {
	name   string
	who    account.Identity
	funded money.Micro
	gifts  int
}

// start is a Tuesday: the first payday is six days away.
var start = time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)

// New makes a world and brings it to where every GPU is offered.
func New(ctx context.Context, cfg Config) (w *World, err error) {
	if cfg.Providers == 0 {
		cfg.Providers = 3
	}
	if cfg.Customers == 0 {
		cfg.Customers = 4
	}
	w = &World{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x6770756e6578)), now: start, calm: true,
		crash: &crasher{}, oracle: newOracle(), past: map[string]standing{}, names: map[string]string{},
	}
	if w.db, err = openDB(ctx, cfg.URL, w.crash); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	w.p = newPlatform(w.db)
	if err = w.settleIn(ctx); err != nil {
		return nil, fmt.Errorf("sim: setup: %w", err)
	}
	return w, nil
}

// Close gives back what the world holds.
func (w *World) Close() {
	for _, h := range w.hosts {
		h.halt()
	}
	w.db.Close()
}

// Run does random steps and checks the invariants after each, then brings everything to rest and checks once more.
func (w *World) Run(ctx context.Context, steps int) error {
	for range steps {
		if err := w.Step(ctx); err != nil {
			return err
		}
	}
	if err := w.rest(ctx); err != nil {
		return fmt.Errorf("at rest: %w", err)
	}
	return nil
}

// Step does one random step and checks the invariants.
func (w *World) Step(ctx context.Context) error {
	w.step++
	w.calm = false
	s := w.choose()
	err := s.do(w, ctx)
	if err == nil {
		err = w.broken
	}
	if err == nil {
		err = w.Check(ctx)
	}
	if err != nil {
		return fmt.Errorf("step %d, %s: %w", w.step, s.name, err)
	}
	return nil
}

// Trace is what happened, a line for each thing.
func (w *World) Trace() []string { return w.trace }

func (w *World) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%3d  %s  ", w.step, w.clock())+fmt.Sprintf(format, args...))
}

// clock is the time since the beginning, for the trace.
func (w *World) clock() string { return w.now.Sub(start).Truncate(time.Millisecond).String() }

// chance is true with a probability, never when the world is calm.
func (w *World) chance(p float64) bool { return w.rng.Float64() < p && !w.calm }

// between draws a duration in whole milliseconds.
func (w *World) between(from, to time.Duration) time.Duration {
	return from + time.Duration(w.rng.Int64N(int64((to-from)/time.Millisecond)+1))*time.Millisecond
}

func pick[T any](w *World, from []T) T { return from[w.rng.IntN(len(from))] }

// accept lets pass what a person may be told, and what a crash of the platform explains; everything else is a bug.
func accept(err error) error {
	if _, ok := fault.As(err); ok || errors.Is(err, errCrash) {
		return nil
	}
	return err
}

// outcome is an error in a word that is the same in every run.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	if f, ok := fault.As(err); ok {
		return f.Code
	}
	if errors.Is(err, errCrash) {
		return "crash"
	}
	return "error"
}
