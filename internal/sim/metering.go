package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/protocol"
)

// telling is a heartbeat's arrival that said of a rental that it runs.
type telling struct {
	at time.Time
	// fresh: no newer heartbeat of the host had arrived before.
	fresh bool
	// sure: the platform has answered. One that died meanwhile may or may not have counted it.
	sure bool
}

// heard notes that a heartbeat has arrived.
func (o *oracle) heard(now time.Time, host int, hb protocol.Heartbeat, sure bool) {
	fresh := hb.HostTime.After(o.newest[host])
	if fresh {
		o.newest[host] = hb.HostTime
	}
	for _, s := range hb.Workloads {
		if t := o.runs[s.Rental]; s.Phase == protocol.PhaseRunning && t != nil && t.host == host {
			t.told = append(t.told, telling{at: now, fresh: fresh, sure: sure})
		}
	}
}

// confirmed is how long a container ran by what the platform was told: the stretches between two tellings that aren't
// longer than unreachable, up to an end.
func confirmed(told []telling, unreachable time.Duration, until time.Time, count func(telling) bool) time.Duration {
	var sum time.Duration
	var last time.Time
	for _, t := range told {
		if !count(t) {
			continue
		}
		at := t.at
		if !until.IsZero() && at.After(until) {
			at = until
		}
		if d := at.Sub(last); !last.IsZero() && d > 0 && t.at.Sub(last) <= unreachable {
			sum += d
		}
		last = t.at
	}
	return sum
}

// checkTime: billed is what the platform was told of, and never more than what ran.
//
// Three bounds hold, to the millisecond:
//   - at most the time between reports of a running container that arrived at most `unreachable` apart;
//   - at least that, of the reports that were answered and came in order, unless money or a maximum ended it;
//   - at most the time that the container truly ran, and beside it only how late the last report of its running came: a
//     report that was under way when the container ended is the newest that the platform has.
func (w *World) checkTime(s standing) error {
	t := w.oracle.runs[s.ID]
	if t == nil {
		if s.BilledMS != 0 {
			return fmt.Errorf("time: billed %d ms, but there never was a container", s.BilledMS)
		}
		return nil
	}
	var errs []error
	var until time.Time
	if s.StopAt != nil {
		until = *s.StopAt
	}
	unreachable := w.p.cfg.Unreachable
	most := confirmed(t.told, unreachable, until, func(telling) bool { return true }).Milliseconds()
	if s.BilledMS > most {
		errs = append(errs, fmt.Errorf("time: billed %d ms, but reports confirm %d ms", s.BilledMS, most))
	}
	least := confirmed(t.told, unreachable, until, func(x telling) bool {
		return x.fresh && x.sure && (s.EndedAt == nil || x.at.Before(*s.EndedAt)) && (s.StopAt == nil || !t.told[0].at.After(until))
	}).Milliseconds()
	if limit, ok := s.limit(); ok {
		least = min(least, limit)
	}
	if s.BilledMS < least && !s.outOfMoney() {
		errs = append(errs, fmt.Errorf("time: billed %d ms, but reports in time confirm %d ms", s.BilledMS, least))
	}
	ran := w.oracle.ran(s.ID, w.now)
	if extra := t.late(); s.BilledMS > (ran + extra).Milliseconds() {
		errs = append(errs, fmt.Errorf("time: billed %d ms, but the container ran %d ms, with %d ms for late reports", s.BilledMS, ran.Milliseconds(), extra.Milliseconds()))
	}
	return errors.Join(errs...)
}

// late is how long after a container's end the last report of its running arrived that was the newest then.
func (t *truth) late() time.Duration {
	if t.ended.IsZero() {
		return 0
	}
	var extra time.Duration
	for _, x := range t.told {
		if x.fresh && x.at.After(t.ended) {
			extra = max(extra, x.at.Sub(t.ended))
		}
	}
	return extra
}

// limit is how long the rental may run by its own maxima.
func (s standing) limit() (int64, bool) {
	ms, ok := int64(0), false
	if s.MaxMS != nil {
		ms, ok = *s.MaxMS, true
	}
	if s.MaxSpend != nil {
		afford, some, err := money.Affords(*s.MaxSpend, s.Micro, s.GPUs)
		if err == nil && some && (!ok || afford < ms) {
			ms, ok = afford, true
		}
	}
	return ms, ok
}

func (s standing) outOfMoney() bool {
	const word = "funds_exhausted"
	return s.StopReason != nil && *s.StopReason == word || s.EndReason != nil && *s.EndReason == word
}
