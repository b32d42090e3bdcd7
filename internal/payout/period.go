package payout

import (
	"time"

	"github.com/gpunex/gpunex/internal/calendar"
)

// The schedules that a provider can choose.
const (
	weekly  = "weekly"
	monthly = "monthly"
)

// periodEnd is the end, exclusive, of the newest period of a schedule whose payday has come. A week is paid as it ends; a
// month on the first business day after it.
func periodEnd(schedule string, now time.Time) time.Time {
	if schedule != monthly {
		return calendar.WeekStart(now)
	}
	first := calendar.MonthStart(now)
	if calendar.FirstBusinessDay(first).After(now) {
		return first.AddDate(0, -1, 0)
	}
	return first
}

// nextPayday is the first payday of a schedule after now.
func nextPayday(schedule string, now time.Time) time.Time {
	if schedule != monthly {
		return calendar.NextWeek(now)
	}
	if day := calendar.FirstBusinessDay(now); day.After(now) {
		return day
	}
	return calendar.FirstBusinessDay(calendar.NextMonth(now))
}
