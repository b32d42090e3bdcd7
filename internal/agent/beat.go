package agent

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/gpunex/gpunex/internal/protocol"
)

// beat tells the platform how things are, when it is time or when something has changed.
func (h *Host) beat(ctx context.Context, now time.Time, complete, must bool) error {
	statuses := h.statuses(complete)
	changed := complete != h.toldAll || !reflect.DeepEqual(statuses, h.told)
	if !must && !changed && now.Before(h.beatAt) {
		return nil
	}
	telemetry, sampleErr := h.Driver.Sample(ctx)
	if sampleErr != nil {
		h.Log.Warn("sample_failed", "error", sampleErr) // the host lives all the same
	}
	reply, err := h.Link.Heartbeat(ctx, protocol.Heartbeat{
		HostTime: h.Now(), Applied: h.applied, Complete: complete, Workloads: statuses, GPUs: telemetry,
	})
	if err != nil {
		h.beatAt = now.Add(lookEvery)
		return fmt.Errorf("heartbeat: %w", err)
	}
	h.told, h.toldAll = statuses, complete
	h.setInterval(reply.IntervalMS)
	h.mu.Lock()
	tenth := h.interval / 10
	h.beatAt = now.Add(h.interval - tenth + rand.N(2*tenth+1))
	h.revision = reply.Revision
	again := h.desired == nil || h.desired.Revision != reply.Revision || reply.Hello
	h.mustGreet = h.mustGreet || reply.Hello
	h.mu.Unlock()
	if again {
		h.rouse()
	}
	return nil
}

// statuses is what this host knows of each rental: how it ended, how far its start has come, and, only where the
// containers could be looked at, that it runs.
func (h *Host) statuses(complete bool) []protocol.Status {
	records := h.journal.Records()
	h.mu.Lock()
	defer h.mu.Unlock()
	all := []protocol.Status{} // none is said as an empty list
	for _, rental := range slices.Sorted(maps.Keys(records)) {
		r := records[rental]
		switch d := h.busy[rental]; {
		case r.Ended != nil:
			all = append(all, *r.Ended)
		case r.Started && complete:
			at := r.StartedAt
			all = append(all, protocol.Status{Rental: rental, Phase: protocol.PhaseRunning, StartedAt: &at})
		case r.Started:
		case d != nil && d.kind == Start:
			all = append(all, protocol.Status{Rental: rental, Phase: d.phase})
		case r.Intended:
			all = append(all, protocol.Status{Rental: rental, Phase: protocol.PhaseCreating})
		}
	}
	return all
}
