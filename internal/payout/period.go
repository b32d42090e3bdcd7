package payout

import "time"

// The schedules that a provider can choose.
const (
	weekly  = "weekly"
	monthly = "monthly"
)

// weekEnd is the newest Monday 00:00 UTC that isn't after now: the end of the last full week, exclusive.
// Civil dates, never a multiple of 168 hours.
func weekEnd(now time.Time) time.Time {
	y, m, d := now.UTC().Date()
	sinceMonday := (int(now.UTC().Weekday()) + 6) % 7
	return time.Date(y, m, d-sinceMonday, 0, 0, 0, 0, time.UTC)
}

// monthStart is the first of now's month.
func monthStart(now time.Time) time.Time {
	y, m, _ := now.UTC().Date()
	return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
}

// payday is when the month that ended on first is paid: the first weekday from then on. Holidays of banks belong to the
// bank rails: USDC moves every day.
func payday(first time.Time) time.Time {
	switch first.Weekday() {
	case time.Saturday:
		return first.AddDate(0, 0, 2)
	case time.Sunday:
		return first.AddDate(0, 0, 1)
	default:
		return first
	}
}

// monthEnd is the newest end of a month whose payday isn't after now.
func monthEnd(now time.Time) time.Time {
	first := monthStart(now)
	if payday(first).After(now) {
		return first.AddDate(0, -1, 0)
	}
	return first
}

// periodEnd is the end of the newest period of a schedule that is due.
func periodEnd(schedule string, now time.Time) time.Time {
	if schedule == monthly {
		return monthEnd(now)
	}
	return weekEnd(now)
}

// nextPayday is the first payday of a schedule after now.
func nextPayday(schedule string, now time.Time) time.Time {
	if schedule == monthly {
		first := monthStart(now)
		if !payday(first).After(now) {
			first = first.AddDate(0, 1, 0)
		}
		return payday(first)
	}
	return weekEnd(now).AddDate(0, 0, 7)
}
