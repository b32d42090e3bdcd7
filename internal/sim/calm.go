package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/db"
)

// calmPass is between the passes of a settled world: like heartbeats.
const calmPass = 10 * time.Second

// heal makes everything work again.
func (w *World) heal() error {
	w.calm = true
	for _, h := range w.hosts {
		h.wire.heal()
		h.comeBack()
		if h.agent == nil {
			if err := h.boot(); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle lets everything work for a while and proves that what runs is what is let, and that all of it is billed.
func (w *World) settle(ctx context.Context) error {
	w.note("calm")
	if err := w.heal(); err != nil {
		return err
	}
	for range 14 { // longer than an orphan's grace
		if err := w.pass(ctx, calmPass); err != nil {
			return err
		}
	}
	before, err := w.standings(ctx)
	if err != nil {
		return err
	}
	for range 2 {
		if err := w.pass(ctx, calmPass); err != nil {
			return err
		}
	}
	after, err := w.standings(ctx)
	if err != nil {
		return err
	}
	return w.checkSettled(before, after)
}

// stopsNow says that the stop was asked for in the pass that has just been: the host hasn't heard of it.
func (s standing) stopsNow(now time.Time) bool {
	return s.State == "stopping" && s.StopAt != nil && s.StopAt.Equal(now)
}

func (w *World) standings(ctx context.Context) (map[string]standing, error) {
	all, err := db.All[standing](ctx, w.db, standingSQL)
	m := map[string]standing{}
	for _, s := range all {
		m[s.ID] = s
	}
	return m, err
}

// checkSettled: each container that runs is a running rental's and the other way round, and what ran between two looks
// was metered to the millisecond.
func (w *World) checkSettled(before, after map[string]standing) error {
	var errs []error
	runs := map[string]bool{}
	for _, h := range w.hosts {
		for _, id := range h.running() {
			runs[id] = true
			if s := after[id]; s.State != "running" && !s.stopsNow(w.now) {
				errs = append(errs, fmt.Errorf("settled: %s: a container of %s runs, whose rental is %q", h.name, w.name(id), s.State))
			}
		}
	}
	for _, l := range w.rentals {
		s := after[l.id]
		switch {
		case s.State == "ended" || s.stopsNow(w.now):
			continue
		case s.State != "running":
			errs = append(errs, fmt.Errorf("settled: %s is still %s", l.name, s.State))
		case !runs[l.id]:
			errs = append(errs, fmt.Errorf("settled: %s is running without a container", l.name))
		case s.MeteredAt == nil || !s.MeteredAt.Equal(w.now):
			errs = append(errs, fmt.Errorf("settled: %s was metered last at %v, it is %v", l.name, s.MeteredAt, w.now))
		}
		if old := before[l.id]; old.State == "running" && s.BilledMS-old.BilledMS != (2*calmPass).Milliseconds() {
			errs = append(errs, fmt.Errorf("settled: %s ran %v and was metered %d ms", l.name, 2*calmPass, s.BilledMS-old.BilledMS))
		}
	}
	return errors.Join(errs...)
}

// rest ends everything and proves that nothing is left.
func (w *World) rest(ctx context.Context) error {
	w.step++
	if err := w.settle(ctx); err != nil {
		return err
	}
	if err := w.Check(ctx); err != nil {
		return err
	}
	for _, l := range w.rentals {
		if err := w.halt(ctx, l, l.by.who, l.by.name); err != nil {
			return err
		}
	}
	if err := w.settle(ctx); err != nil {
		return err
	}
	if err := w.Check(ctx); err != nil {
		return err
	}
	var errs []error
	for _, l := range w.rentals {
		if s := w.past[l.id]; s.State != "ended" || s.Held != 0 {
			errs = append(errs, fmt.Errorf("%s is %s and holds %s", l.name, s.State, s.Held))
		}
	}
	for _, h := range w.hosts {
		for _, c := range h.containers() {
			errs = append(errs, fmt.Errorf("%s: a container of %s is left, %s", h.name, w.name(c.Rental), c.Phase))
		}
	}
	errs = append(errs, w.allOffered(ctx))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := w.payday(ctx); err != nil {
		return err
	}
	return w.Check(ctx)
}

// census says how the rentals ended.
func (w *World) census() string {
	n := map[string]int{}
	for _, s := range w.past {
		if s.EndReason != nil {
			n[*s.EndReason]++
		} else {
			n[s.State]++
		}
	}
	return fmt.Sprint(n)
}
