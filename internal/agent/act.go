package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

const (
	stopTimeout  = 90 * time.Second // for an engine to stop a container and to remove it
	drainTimeout = 5 * time.Second  // for a stopped workload's last output to reach the platform
)

// act does what was planned. An error means that the journal can't be written: then nothing more may be begun.
func (h *Host) act(ctx context.Context, plan []Action, now time.Time, inline bool) error {
	for _, a := range plan {
		var err error
		switch a.Deed {
		case Adopt:
			h.Log.Info("workload_adopted", "rental", a.Rental)
			err = h.journal.Started(a.Rental, a.At)
		case End:
			h.Log.Info("workload_ended", "rental", a.Rental, "phase", a.Status.Phase)
			err = h.journal.Ended(a.Status, now)
		case Forget:
			err = h.journal.Forget(a.Rental, now)
			h.mu.Lock()
			delete(h.retry, a.Rental)
			h.mu.Unlock()
		case Start:
			if err = h.journal.Intend(a.Rental, now); err == nil {
				h.do(ctx, a, inline, h.start)
			}
		case Stop:
			if err = h.journal.Stopping(a.Rental, now); err == nil {
				h.do(ctx, a, inline, h.stop)
			}
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", a.Deed, a.Rental, err)
		}
	}
	return nil
}

// do runs one deed, at most one for each rental, each beside the others.
func (h *Host) do(ctx context.Context, a Action, inline bool, how func(context.Context, Action) error) {
	ctx, cancel := context.WithCancel(ctx)
	d := &deed{kind: a.Deed, cancel: cancel}
	if a.Deed == Start {
		d.phase = protocol.PhaseCreating
	}
	h.mu.Lock()
	h.busy[a.Rental] = d
	h.mu.Unlock()
	run := func() {
		defer cancel()
		err := how(ctx, a)
		h.mu.Lock()
		if err != nil {
			h.retry[a.Rental] = retry{kind: a.Deed, at: h.Now().Add(retryAfter)}
		} else {
			delete(h.retry, a.Rental)
		}
		delete(h.busy, a.Rental)
		h.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			h.Log.Warn("deed_failed", "deed", a.Deed, "rental", a.Rental, "error", err)
		}
		h.rouse()
	}
	if inline {
		run()
		return
	}
	h.deeds.Go(run)
}

// start makes a workload run. What the runtime refuses is final; where it gave no answer, the next pass looks again.
func (h *Host) start(ctx context.Context, a Action) error {
	h.Log.Info("workload_starts", "rental", a.Rental, "image", a.Spec.Image)
	err := h.Runtime.Start(ctx, a.Spec, func(p protocol.Phase) {
		h.mu.Lock()
		if d := h.busy[a.Rental]; d != nil {
			d.phase = p
		}
		h.mu.Unlock()
		h.rouse()
	})
	now := h.Now()
	var failure *workload.Error
	switch {
	case err == nil:
		return h.journal.Started(a.Rental, now)
	case errors.Is(err, workload.ErrAway), ctx.Err() != nil:
		return err
	case errors.As(err, &failure):
		h.Log.Info("workload_failed", "rental", a.Rental, "code", failure.Code, "message", failure.Message)
		return h.journal.Ended(protocol.Status{
			Rental: a.Rental, Phase: protocol.PhaseFailed, Code: failure.Code, Message: failure.Message,
		}, now)
	default:
		return err
	}
}

// stop ends a workload, waits a little for its last output, and removes its container.
func (h *Host) stop(ctx context.Context, a Action) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	err := h.Runtime.Stop(ctx, a.Rental)
	stopped := h.Now()
	if err != nil && !errors.Is(err, workload.ErrUnknown) {
		return err
	}
	record := h.journal.Record(a.Rental)
	if record.Ended == nil {
		s := protocol.Status{Rental: a.Rental, Phase: protocol.PhaseStopped}
		if record.Started {
			s.StartedAt, s.FinishedAt = &record.StartedAt, &stopped
		}
		if err := h.journal.Ended(s, h.Now()); err != nil {
			return err
		}
		h.Log.Info("workload_stopped", "rental", a.Rental)
		h.rouse() // the platform may know before the container is gone
	}
	h.drain(ctx, a.Rental)
	return h.Runtime.Remove(ctx, a.Rental)
}

// busyRentals are those with a deed under way, or one that failed a moment ago.
func (h *Host) busyRentals(now time.Time) map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	busy := map[string]bool{}
	for rental := range h.busy {
		busy[rental] = true
	}
	for rental, r := range h.retry {
		if now.Before(r.at) {
			busy[rental] = true
		}
	}
	return busy
}

// dropCancelled cuts starts short that the platform no longer wants: a pull may take long.
func (h *Host) dropCancelled() {
	if h.desired == nil {
		return
	}
	wanted := map[string]bool{}
	for _, w := range h.desired.Workloads {
		wanted[w.Rental] = w.Want != protocol.WantStopped
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for rental, d := range h.busy {
		if d.kind == Start && !wanted[rental] {
			d.cancel()
		}
	}
	for rental, r := range h.retry {
		if r.kind == Start && !wanted[rental] {
			delete(h.retry, rental) // no more waiting to start it again
		}
	}
}
