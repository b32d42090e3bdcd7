package sim

import (
	"time"

	"github.com/gpunex/gpunex/internal/agent/workload"
)

// oracle knows from outside how long each container truly ran, and what the platform was told of it.
type oracle struct {
	runs   map[string]*truth
	newest map[int]time.Time // host's clock in the newest heartbeat that has arrived, by host
}

// truth is what is so about one rental, in the world's time.
type truth struct {
	host    int
	started time.Time
	ended   time.Time // zero: it runs
	told    []telling // in the order of arrival
}

func newOracle() *oracle { return &oracle{runs: map[string]*truth{}, newest: map[int]time.Time{}} }

// look notes what a host's engine has. It is called whenever something may have changed there, before time goes on: so
// no container starts, ends or vanishes unnoticed, and every time here is exact.
func (o *oracle) look(now time.Time, h *host) {
	seen := map[string]bool{}
	for _, c := range h.containers() {
		seen[c.Rental] = true
		t := o.runs[c.Rental]
		if t == nil {
			t = &truth{host: h.index, started: c.StartedAt.Add(-h.skew)}
			o.runs[c.Rental] = t
		}
		if c.Phase == workload.Exited && t.ended.IsZero() {
			t.ended = c.FinishedAt.Add(-h.skew)
		}
	}
	for rental, t := range o.runs {
		if t.host == h.index && t.ended.IsZero() && !seen[rental] {
			t.ended = now
		}
	}
}

// ran is how long a rental's container truly ran until now.
func (o *oracle) ran(rental string, now time.Time) time.Duration {
	t := o.runs[rental]
	if t == nil {
		return 0
	}
	end := t.ended
	if end.IsZero() {
		end = now
	}
	return end.Sub(t.started)
}
