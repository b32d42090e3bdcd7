package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/protocol"
)

// telling is a heartbeat's arrival that said of a rental that it runs, or that it ran until it exited or was stopped.
type telling struct {
	at   time.Time
	sent time.Time
	// until is up to when it confirms: its arrival or, of an end, that end and the time that the report was under way.
	// The platform can't know how long that was.
	until time.Time
	runs  bool
	// fresh: no newer heartbeat of the host had arrived before.
	fresh bool
	// sure: the platform has answered. One that died meanwhile may or may not have counted it.
	sure bool
}

// heard notes that a heartbeat has arrived.
func (o *oracle) heard(now, sent time.Time, host int, hb protocol.Heartbeat, sure bool) {
	// Two passes of a tick tell at the same moment, and both count; one that comes again later does not.
	fresh := hb.HostTime.After(o.newest[host]) || hb.HostTime.Equal(o.newest[host]) && sent.Equal(now)
	if fresh {
		o.newest[host] = hb.HostTime
	}
	for _, s := range hb.Workloads {
		t := o.runs[s.Rental]
		if t == nil || t.host != host {
			continue
		}
		switch runs := s.Phase == protocol.PhaseRunning; {
		case runs, s.Phase == protocol.PhaseExited, s.Phase == protocol.PhaseStopped:
			until := now
			if !runs {
				until = t.ended.Add(now.Sub(sent))
			}
			t.told = append(t.told, telling{at: now, sent: sent, until: until, runs: runs, fresh: fresh, sure: sure})
		}
	}
}

// confirmed is how long a container ran by what the platform was told: the stretches between two tellings that aren't
// longer than unreachable. The first that it runs starts the clock, unless a stop was asked for before; what comes after
// the rental's end is too late.
func confirmed(told []telling, unreachable time.Duration, stop, end *time.Time, count func(telling) bool) time.Duration {
	var sum time.Duration
	var last, counted time.Time
	for _, t := range told {
		began := !last.IsZero()
		if !count(t) || end != nil && t.at.After(*end) || !began && (!t.runs || stop != nil && t.at.After(*stop)) {
			continue
		}
		until := t.until
		if stop != nil && until.After(*stop) {
			until = *stop
		}
		if d := until.Sub(counted); began && d > 0 && t.at.Sub(last) <= unreachable {
			sum += d
		}
		last, counted = t.at, later(counted, t.until)
	}
	return sum
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// checkTime: billed is what the platform was told of, and never more than what ran.
//
// Three bounds hold, to the millisecond:
//   - at most the time between reports that arrived at most `unreachable` apart (the platform knows nothing else);
//   - at least that, of the reports that were answered and came in order, unless money or a maximum ended it;
//   - at most the time that the container truly ran and, beside it, that for which a report was under way: of its running,
//     when it ended meanwhile, or of its end, whose age is that of when the report was sent. By the first bound that is
//     never more than `unreachable` for one report.
//
// A rental whose container never ended, and every one while no report is late, has no such excess.
func (w *World) checkTime(s standing) error {
	t := w.oracle.runs[s.ID]
	if t == nil {
		if s.BilledMS != 0 {
			return fmt.Errorf("time: billed %d ms, but there never was a container", s.BilledMS)
		}
		return nil
	}
	var errs []error
	unreachable := w.p.cfg.Unreachable
	most := confirmed(t.told, unreachable, s.StopAt, s.EndedAt, func(telling) bool { return true }).Milliseconds()
	if s.BilledMS > most {
		errs = append(errs, fmt.Errorf("time: billed %d ms, but reports confirm %d ms", s.BilledMS, most))
	}
	least := confirmed(t.told, unreachable, s.StopAt, s.EndedAt, func(x telling) bool { return x.fresh && x.sure }).Milliseconds()
	if limit, ok := s.limit(); ok {
		least = min(least, limit)
	}
	if s.BilledMS < least && !s.outOfMoney() {
		errs = append(errs, fmt.Errorf("time: billed %d ms, but reports in time confirm %d ms", s.BilledMS, least))
	}
	ran := w.oracle.ran(s.ID, w.now)
	w.excess = max(w.excess, time.Duration(s.BilledMS)*time.Millisecond-ran)
	if extra := t.late(s); s.BilledMS > (ran + extra).Milliseconds() {
		errs = append(errs, fmt.Errorf("time: billed %d ms, but the container ran %d ms, and reports were under way for %d ms after its end", s.BilledMS, ran.Milliseconds(), extra.Milliseconds()))
	}
	return errors.Join(errs...)
}

// late is how long after a container's end a report that was under way could still be billed. A report that says that it
// runs, sent after its end, is a lie and excuses nothing.
func (t *truth) late(s standing) time.Duration {
	if t.ended.IsZero() {
		return 0
	}
	var extra time.Duration
	for _, x := range t.told {
		until := x.until
		if s.EndedAt != nil && x.at.After(*s.EndedAt) || x.runs && x.sent.After(t.ended) {
			continue
		}
		if s.StopAt != nil && until.After(*s.StopAt) {
			until = *s.StopAt
		}
		extra = max(extra, until.Sub(t.ended))
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
