package rental

import (
	"time"

	"github.com/gpunex/gpunex/internal/money"
)

// Metering is what a rental's billed time is made of.
type Metering struct {
	State     State
	RunningAt *time.Time
	// MeteredAt is up to when time has been counted, or left out for good.
	MeteredAt *time.Time
	BilledMS  int64
	// CapMS is the most that can be billed: for what is held, or the customer's own maximum. Negative: no cap.
	CapMS int64
	// StopAt is when somebody asked for the end, or when it was if that came first: nothing after it is billed.
	StopAt *time.Time
}

// Meter counts what a report confirms that arrives at now and says that the workload runs, or ran until then. The first
// one starts the clock. The stretch since the one before counts if it isn't longer than unreachable; a longer one is
// lost to the provider. A report that says nothing of the kind (running is false) counts nothing. Doing it twice, late
// or out of order never counts a millisecond twice.
func Meter(m Metering, now time.Time, running bool, unreachable time.Duration) Metering {
	if !running {
		return m
	}
	if m.RunningAt == nil || m.MeteredAt == nil {
		if m.State == Starting {
			m.State, m.RunningAt, m.MeteredAt = Running, &now, &now
		}
		return m // what begins to run while it is being stopped isn't billed
	}
	if now.Sub(*m.MeteredAt) > unreachable {
		m.MeteredAt = &now
		return m
	}
	ms := stretch(*m.MeteredAt, now, m.StopAt)
	if ms <= 0 {
		return m
	}
	// Up to the last whole millisecond: the rest is counted with the next stretch.
	at := m.MeteredAt.Add(time.Duration(ms) * time.Millisecond)
	m.MeteredAt = &at
	m.BilledMS = capped(m.BilledMS+ms, m.CapMS, m.BilledMS)
	return m
}

// stretch is how many whole milliseconds lie between from and now, or the moment of stopping if that came first.
func stretch(from, now time.Time, stop *time.Time) int64 {
	if stop != nil && stop.Before(now) {
		now = *stop
	}
	return max(now.Sub(from).Milliseconds(), 0)
}

// capped is ms, but no more than limit (negative: none) and no less than what has been billed before.
func capped(ms, limit, before int64) int64 {
	if limit >= 0 && ms > limit {
		ms = limit
	}
	return max(ms, before)
}

// maximumMS is how long a rental may run by its own maxima; false when it has none.
func (r Rental) maximumMS() (ms int64, limited bool, err error) {
	ms, limited = r.MaxMS, r.MaxMS > 0
	if r.MaxSpend <= 0 {
		return ms, limited, nil
	}
	afford, err := affords(r.MaxSpend, r)
	if err != nil || limited && ms <= afford {
		return ms, limited, err
	}
	return afford, true, nil
}

// liveMS is the time billed up to now if the host goes on confirming it.
func (r Rental) liveMS(now time.Time, unreachable time.Duration) int64 {
	ms := r.BilledMS
	if (r.State == Running || r.State == Stopping) && r.RunningAt != nil && r.MeteredAt != nil && now.Sub(*r.MeteredAt) <= unreachable {
		ms += stretch(*r.MeteredAt, now, r.StopAt)
	}
	if limit, limited, err := r.maximumMS(); err == nil && limited {
		ms = capped(ms, limit, r.BilledMS)
	}
	return ms
}

// Live is the charge up to now, settled or not: exact, never stored. It counts time that the next report will confirm;
// while a host is silent for longer than unreachable it stands still.
func (r Rental) Live(now time.Time, unreachable time.Duration) money.Micro {
	charge, err := money.Charge(r.Micro, r.GPUs, r.liveMS(now, unreachable))
	if err != nil {
		return r.Charged // out of any amount's range: what is in the books is true
	}
	return max(charge, r.Charged)
}
