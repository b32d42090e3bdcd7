package payout_test

import (
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/payout"
)

func at(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPeriods(t *testing.T) {
	for _, c := range []struct{ schedule, now, end, next string }{
		{"weekly", "2026-12-07T00:00:00Z", "2026-12-07T00:00:00Z", "2026-12-14T00:00:00Z"}, // a Monday, at its first moment
		{"weekly", "2026-12-06T23:59:59Z", "2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z"}, // the Sunday before
		{"weekly", "2026-12-07T05:00:00+05:45", "2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z"},
		{"weekly", "2027-01-01T12:00:00Z", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"},
		{"weekly", "2028-02-29T12:00:00Z", "2028-02-28T00:00:00Z", "2028-03-06T00:00:00Z"},
		{"monthly", "2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z", "2027-01-04T00:00:00Z"}, // after New Year and a weekend
		{"monthly", "2027-01-02T12:00:00Z", "2026-12-01T00:00:00Z", "2027-01-04T00:00:00Z"},
		{"monthly", "2026-08-01T12:00:00Z", "2026-07-01T00:00:00Z", "2026-08-03T00:00:00Z"}, // a Saturday: paid on Monday
		{"monthly", "2026-08-03T00:00:00Z", "2026-08-01T00:00:00Z", "2026-09-01T00:00:00Z"},
		{"monthly", "2026-11-01T12:00:00Z", "2026-10-01T00:00:00Z", "2026-11-02T00:00:00Z"}, // a Sunday
		{"monthly", "2027-01-31T23:59:59Z", "2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z"},
	} {
		now := at(t, c.now)
		if got := payout.PeriodEnd(c.schedule, now); !got.Equal(at(t, c.end)) {
			t.Errorf("%s at %s: period ends %s, want %s", c.schedule, c.now, got, c.end)
		}
		if got := payout.NextPayday(c.schedule, now); !got.Equal(at(t, c.next)) {
			t.Errorf("%s at %s: next payday %s, want %s", c.schedule, c.now, got, c.next)
		}
	}
}

// Ten years of days: paydays come on the right weekdays, and none is skipped or doubled.
func TestPaydaysOverTenYears(t *testing.T) {
	now := at(t, "2026-01-01T00:00:00Z")
	for range 3653 {
		for _, schedule := range []string{"weekly", "monthly"} {
			next := payout.NextPayday(schedule, now)
			if !next.After(now) || next.Weekday() == time.Saturday || next.Weekday() == time.Sunday {
				t.Fatalf("%s at %s: next payday %s", schedule, now, next)
			}
			before, then := payout.PeriodEnd(schedule, next.Add(-time.Nanosecond)), payout.PeriodEnd(schedule, next)
			if !then.After(before) || !before.Equal(payout.PeriodEnd(schedule, now)) {
				t.Fatalf("%s at %s: the period ends %s until its payday %s, then %s", schedule, now, before, next, then)
			}
		}
		now = now.AddDate(0, 0, 1)
	}
}
