package calendar_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gpunex/gpunex/internal/calendar"
)

func at(s string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestBusinessDay(t *testing.T) {
	for day, want := range map[string]bool{
		"2026-01-01": false, // New Year
		"2026-01-02": true,
		"2026-04-03": false, // Good Friday
		"2026-04-04": false, // Saturday
		"2026-04-06": false, // Easter Monday
		"2026-04-07": true,
		"2026-05-01": false,
		"2026-12-24": true,
		"2026-12-25": false,
		"2026-12-28": true, // 26 December was a Saturday, and no other day stands in for it
		"2025-12-26": false,
		"2024-03-29": false, // Good Friday
		"2027-03-29": false, // Easter Monday
		"2026-07-14": true,  // national holidays are business days
	} {
		if got := calendar.IsBusinessDay(at(day + " 12:00")); got != want {
			t.Errorf("%s: business day %v, want %v", day, got, want)
		}
	}
}

func TestAddBusinessDays(t *testing.T) {
	for _, c := range []struct {
		from string
		n    int
		want string
	}{
		{"2026-11-30 09:30", 3, "2026-12-03 09:30"}, // Monday
		{"2026-12-03 23:59", 3, "2026-12-08 23:59"}, // over a weekend
		{"2026-12-05 10:00", 1, "2026-12-07 10:00"}, // Saturday
		{"2026-12-06 10:00", 1, "2026-12-07 10:00"}, // Sunday
		{"2026-12-23 10:00", 3, "2026-12-29 10:00"}, // over Christmas
		{"2026-04-01 10:00", 3, "2026-04-08 10:00"}, // over Easter
		{"2026-12-05 10:00", 0, "2026-12-05 10:00"},
		{"2026-12-05 10:00", -2, "2026-12-05 10:00"},
	} {
		if got := calendar.AddBusinessDays(at(c.from), c.n); !got.Equal(at(c.want)) {
			t.Errorf("%s + %d: got %s, want %s", c.from, c.n, got, c.want)
		}
	}
}

func TestEaster(t *testing.T) {
	for year, want := range map[int]string{1961: "04-02", 2000: "04-23", 2008: "03-23", 2024: "03-31", 2026: "04-05", 2038: "04-25", 2285: "03-22"} {
		if got := calendar.Easter(year).Format("01-02"); got != want {
			t.Errorf("%d: got %s, want %s", year, got, want)
		}
	}
}

func TestFirstBusinessDay(t *testing.T) {
	for month, want := range map[string]string{
		"2026-05": "2026-05-04", // Friday 1 May, weekend
		"2027-01": "2027-01-04",
		"2026-11": "2026-11-02",
		"2026-12": "2026-12-01",
		"2024-04": "2024-04-02", // Easter Monday is the first
	} {
		if got := calendar.FirstBusinessDay(at(month + "-17 13:00")).Format(time.DateOnly); got != want {
			t.Errorf("%s: got %s, want %s", month, got, want)
		}
	}
}

func ExampleWeekStart() {
	sunday := time.Date(2026, 12, 6, 23, 59, 0, 0, time.UTC)
	fmt.Println(calendar.WeekStart(sunday).Format("Mon 2 Jan 15:04"))
	fmt.Println(calendar.NextWeek(sunday).Format("Mon 2 Jan 15:04"))
	// Output:
	// Mon 30 Nov 00:00
	// Mon 7 Dec 00:00
}

func moments(t *rapid.T) time.Time {
	zone := time.FixedZone("", rapid.IntRange(-12*3600, 14*3600).Draw(t, "zone"))
	return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "unix"), 0).In(zone)
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := moments(t)
		if calendar.IsBusinessDay(x) != calendar.IsBusinessDay(x.UTC()) {
			t.Fatalf("%v: the location changes the answer", x)
		}
		w, nw := calendar.WeekStart(x), calendar.NextWeek(x)
		if w.Weekday() != time.Monday || w.After(x) || !nw.After(x) || nw.Sub(w) != 7*24*time.Hour || calendar.Day(w) != w {
			t.Fatalf("%v: week %v to %v", x, w, nw)
		}
		m, nm := calendar.MonthStart(x), calendar.NextMonth(x)
		if m.Day() != 1 || nm.Day() != 1 || m.After(x) || !nm.After(x) || calendar.MonthStart(nm.Add(-1)) != m {
			t.Fatalf("%v: month %v to %v", x, m, nm)
		}
		first := calendar.FirstBusinessDay(x)
		if !calendar.IsBusinessDay(first) || calendar.MonthStart(first) != m {
			t.Fatalf("%v: first business day %v", x, first)
		}
		for d := m; d.Before(first); d = d.AddDate(0, 0, 1) {
			if calendar.IsBusinessDay(d) {
				t.Fatalf("%v: %v is an earlier business day than %v", x, d, first)
			}
		}
	})
}

func TestAddBusinessDaysProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, n, m := moments(t), rapid.IntRange(1, 40).Draw(t, "n"), rapid.IntRange(1, 40).Draw(t, "m")
		got := calendar.AddBusinessDays(x, n)
		if !calendar.IsBusinessDay(got) || got.Sub(x)%(24*time.Hour) != 0 {
			t.Fatalf("%v + %d = %v", x, n, got)
		}
		count := 0
		for d := x.Add(24 * time.Hour); !d.After(got); d = d.Add(24 * time.Hour) {
			if calendar.IsBusinessDay(d) {
				count++
			}
		}
		if count != n {
			t.Fatalf("%v + %d = %v passes %d business days", x, n, got, count)
		}
		if step := calendar.AddBusinessDays(got, m); !step.Equal(calendar.AddBusinessDays(x, n+m)) {
			t.Fatalf("%v + %d + %d = %v", x, n, m, step)
		}
	})
}
