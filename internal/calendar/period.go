package calendar

import "time"

// Day gives 00:00 UTC of the UTC day of t.
func Day(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// WeekStart gives the newest Monday 00:00 UTC that isn't after t.
func WeekStart(t time.Time) time.Time {
	t = Day(t)
	return t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
}

// NextWeek gives the first Monday 00:00 UTC after t.
func NextWeek(t time.Time) time.Time { return WeekStart(t).AddDate(0, 0, 7) }

// MonthStart gives 00:00 UTC of the first day of the month of t.
func MonthStart(t time.Time) time.Time {
	y, m, _ := t.UTC().Date()
	return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
}

// NextMonth gives the first start of a month after t.
func NextMonth(t time.Time) time.Time { return MonthStart(t).AddDate(0, 1, 0) }
