package payout

import "time"

// OnStep tells f of each durable step.
func (s *Service) OnStep(f func(name string)) { s.step = f }

// The calendar, for tests.
var (
	PeriodEnd  = func(schedule string, now time.Time) time.Time { return periodEnd(schedule, now) }
	NextPayday = func(schedule string, now time.Time) time.Time { return nextPayday(schedule, now) }
)
