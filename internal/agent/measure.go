package agent

import (
	"context"
	"time"

	"github.com/gpunex/gpunex/internal/agent/bench"
	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

const benchRetry = 15 * time.Second

func (h *Host) isMeasuring() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.measuring != nil
}

// measure obeys a benchmark order, and gives way to rentals: their GPUs are never measured.
func (h *Host) measure(ctx context.Context, actual []workload.State, now time.Time, inline bool) {
	order := h.desired.Bench
	taken := h.taken(actual)
	h.mu.Lock()
	if m := h.measuring; m != nil {
		if taken || order == nil || order.Run != m.run {
			m.cancel(bench.ErrInterrupted)
		}
		h.mu.Unlock()
		return
	}
	if order == nil || order.Run == h.measured || now.Before(h.benchAt) || h.hardware == nil {
		h.mu.Unlock()
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	h.measuring = &measurement{run: order.Run, cancel: cancel}
	h.mu.Unlock()
	gpus := h.hardware.GPUs
	run := func() {
		defer cancel(nil)
		var err error
		if taken {
			err = bench.Interrupt(ctx, *order, bench.ErrInterrupted.Error(), h.Link)
		} else {
			h.Log.Info("benchmark_starts", "run", order.Run)
			err = bench.Run(ctx, *order, gpus, h.Meter, h.Link)
		}
		h.mu.Lock()
		h.measuring = nil
		h.benchAt = h.Now().Add(benchRetry)
		if err == nil {
			h.measured = order.Run
		}
		h.mu.Unlock()
		h.Log.Info("benchmark_ended", "run", order.Run, "error", err)
		h.rouse()
	}
	if inline {
		run()
		return
	}
	h.deeds.Go(run)
}

// taken says whether a rental has, or is about to have, GPUs of this host.
func (h *Host) taken(actual []workload.State) bool {
	for _, c := range actual {
		if c.Phase != workload.Exited {
			return true
		}
	}
	for _, w := range h.desired.Workloads {
		if w.Want == protocol.WantRunning && h.journal.Record(w.Rental).Ended == nil {
			return true
		}
	}
	return false
}
