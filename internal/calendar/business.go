package calendar

import "time"

const day = 24 * time.Hour

// IsBusinessDay says whether the UTC day of t is one on which TARGET is open.
func IsBusinessDay(t time.Time) bool {
	t = Day(t)
	switch t.Weekday() {
	case time.Saturday, time.Sunday:
		return false
	}
	switch m, d := t.Month(), t.Day(); {
	case m == time.January && d == 1, m == time.May && d == 1, m == time.December && (d == 25 || d == 26):
		return false
	}
	easter := Easter(t.Year())
	return !t.Equal(easter.AddDate(0, 0, -2)) && !t.Equal(easter.AddDate(0, 0, 1)) // Good Friday, Easter Monday
}

// AddBusinessDays gives the same time of day n business days later; n below 1 changes nothing. What begins on a weekend
// or a holiday counts from the next business day on, so one day after a Saturday is Monday.
func AddBusinessDays(t time.Time, n int) time.Time {
	t = t.UTC()
	for n > 0 {
		t = t.Add(day)
		if IsBusinessDay(t) {
			n--
		}
	}
	return t
}

// FirstBusinessDay gives the first business day of the month of t, at 00:00 UTC.
func FirstBusinessDay(t time.Time) time.Time {
	t = MonthStart(t)
	for !IsBusinessDay(t) {
		t = t.Add(day)
	}
	return t
}

// Easter gives Easter Sunday of a Gregorian year (the rule of Meeus, Jones and Butcher).
func Easter(year int) time.Time {
	a, b, c := year%19, year/100, year%100
	d, e := b/4, b%4
	g := (b - (b+8)/25 + 1) / 3
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return time.Date(year, time.Month(n/31), n%31+1, 0, 0, 0, 0, time.UTC)
}
