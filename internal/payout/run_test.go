package payout_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/payout"
	"github.com/gpunex/gpunex/internal/payout/rail/simulated"
)

func TestRunPaysWhatIsPayable(t *testing.T) {
	w := newWorld(t)
	w.provider("acc_a", 80*money.USDC)
	w.provider("acc_b", 49*money.USDC)
	w.provider("acc_c", 90*money.USDC)
	w.provider("acc_d", 0)
	w.exec(`UPDATE provider SET status = 'suspended' WHERE account_id = 'acc_c'`)
	s := w.service()

	list, preview, err := s.Preview(t.Context(), monday)
	if err != nil || len(list) != 1 || list[0].Micro != 80*money.USDC || list[0].ProviderName != "Name of acc_a" || preview.Planned != 1 {
		t.Fatalf("preview: got %+v, %+v, %v", list, preview, err)
	}
	if n := w.sum(`SELECT (SELECT count(*) FROM payout) + (SELECT count(*) FROM payout_run)`); n != 0 {
		t.Errorf("the preview wrote %d rows", n)
	}

	sum := w.run(s, monday)
	if sum.Planned != 1 || sum.Paid != 1 || sum.Open != 0 || sum.Returned != 0 || sum.Micro != 80*money.USDC || !sum.PeriodEnd.Equal(at(t, "2026-12-07T00:00:00Z")) {
		t.Errorf("got %+v", sum)
	}
	want := map[string]string{"acc_b": "below_minimum", "acc_c": "suspended", "acc_d": "below_minimum"}
	if !maps.Equal(sum.Skipped, want) || !maps.Equal(preview.Skipped, want) {
		t.Errorf("skipped: got %v and %v", sum.Skipped, preview.Skipped)
	}
	w.checkFinished(1, 80*money.USDC)

	of, err := s.Of(t.Context(), "acc_a", 10)
	if err != nil || len(of) != 1 || of[0].State != payout.Paid || of[0].Reference != of[0].ID || of[0].Destination != "simulated:acc_a" || of[0].SettledAt == nil || !of[0].SettledAt.Equal(monday) {
		t.Errorf("payouts: got %+v, %v", of, err)
	}
	lines, err := w.ledger.About(t.Context(), of[0].ID, "")
	if err != nil || len(lines) != 4 || lines[0].Kind != "payout" || lines[2].Kind != "payout_paid" {
		t.Errorf("lines: got %+v, %v", lines, err)
	}
}

func TestRunAgainDoesNothingUntilNextMonday(t *testing.T) {
	w := newWorld(t)
	w.provider("acc_a", 80*money.USDC)
	w.provider("acc_b", 30*money.USDC)
	s := w.service()
	w.run(s, monday)
	w.mature("acc_a", 70*money.USDC)
	w.mature("acc_b", 30*money.USDC) // above the minimum now, but on a Wednesday
	if sum := w.run(s, monday.AddDate(0, 0, 2)); sum.Planned+sum.Paid+sum.Open != 0 {
		t.Errorf("on Wednesday: got %+v", sum)
	}
	if list, _, err := s.Preview(t.Context(), monday.AddDate(0, 0, 2)); err != nil || len(list) != 0 {
		t.Errorf("preview on Wednesday: got %+v, %v", list, err)
	}
	w.checkFinished(1, 80*money.USDC)
	// Nobody ran for three weeks: one payout holds it all.
	sum := w.run(s, monday.AddDate(0, 0, 23))
	if sum.Paid != 2 || sum.Micro != 130*money.USDC {
		t.Errorf("three weeks later: got %+v", sum)
	}
	w.checkFinished(3, 210*money.USDC)
}

func TestMonthlyIsPaidOnTheFirstBusinessDay(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	w.provider("acc_a", 80*money.USDC)
	if err := w.set(s, "acc_a", payout.Setting{Schedule: "monthly", Rail: "simulated", Destination: " wallet "}); err != nil {
		t.Fatal(err)
	}
	// The month before is closed with nothing to pay.
	w.exec(`INSERT INTO payout_run (id, schedule, period_end, started_at, planned_at) VALUES ('prn_x', 'monthly', '2027-04-01Z', '2027-04-01', '2027-04-01')`)
	saturday := at(t, "2027-05-01T12:00:00Z")
	if sum := w.run(s, saturday); sum.Planned != 0 {
		t.Errorf("on Saturday the first: got %+v", sum)
	}
	next, err := s.Next(t.Context(), saturday, "acc_a")
	if err != nil || next.Reason != "" || !next.At.Equal(at(t, "2027-05-03T00:00:00Z")) || next.Schedule != "monthly" {
		t.Errorf("next: got %+v, %v", next, err)
	}
	if sum := w.run(s, at(t, "2027-05-03T00:00:00Z")); sum.Paid != 1 {
		t.Errorf("on Monday the third: got %+v", sum)
	}
	if of, err := s.Of(t.Context(), "", 10); err != nil || len(of) != 1 || of[0].Destination != "wallet" {
		t.Errorf("payouts: got %+v, %v", of, err)
	}
	w.checkFinished(1, 80*money.USDC)
}

func TestReturnedMoneyIsPayableAgain(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	w.provider("acc_a", 80*money.USDC)
	if err := w.set(s, "acc_a", payout.Setting{Schedule: "weekly", Rail: "simulated", Destination: simulated.Closed}); err != nil {
		t.Fatal(err)
	}
	if sum := w.run(s, monday); sum.Returned != 1 || sum.Paid != 0 || sum.Open != 0 {
		t.Errorf("got %+v", sum)
	}
	w.check()
	if got := w.balance(ledger.Payable("acc_a")); got != 80*money.USDC {
		t.Errorf("payable: got %s", got)
	}
	if of, err := s.Of(t.Context(), "acc_a", 10); err != nil || len(of) != 1 || of[0].State != payout.Returned || of[0].Detail == "" {
		t.Errorf("payouts: got %+v, %v", of, err)
	}
	if err := w.set(s, "acc_a", payout.Setting{Schedule: "weekly", Rail: "simulated", Destination: "open"}); err != nil {
		t.Fatal(err)
	}
	if sum := w.run(s, monday.AddDate(0, 0, 7)); sum.Paid != 1 {
		t.Errorf("a week later: got %+v", sum)
	}
	w.check()
}

func TestNext(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	w.provider("acc_a", 10*money.USDC)
	next, err := s.Next(t.Context(), monday, "acc_a")
	if err != nil || next.Reason != "below_minimum" || next.Payable != 10*money.USDC || next.Minimum != minimum || next.Earned != 0 || !next.At.Equal(at(t, "2026-12-14T00:00:00Z")) {
		t.Errorf("got %+v, %v", next, err)
	}
	w.mature("acc_a", 40*money.USDC)
	if next, err = s.Next(t.Context(), monday, "acc_a"); err != nil || next.Reason != "" {
		t.Errorf("at the minimum: got %+v, %v", next, err)
	}
	w.exec(`INSERT INTO payout_setting VALUES ('acc_a', 'weekly', 'simulated', '', '2026-01-01')`)
	if next, err = s.Next(t.Context(), monday, "acc_a"); err != nil || next.Reason != "no_destination" {
		t.Errorf("without a destination: got %+v, %v", next, err)
	}
	if _, err = s.Next(t.Context(), monday, "acc_none"); !fault.Is(err, "provider_required") {
		t.Errorf("not a provider: got %v", err)
	}
}

func TestSet(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	w.provider("acc_a", 0)
	if got, err := s.Setting(t.Context(), "acc_a"); err != nil || got != (payout.Setting{Schedule: "weekly", Rail: "simulated", Destination: "simulated:acc_a"}) {
		t.Errorf("default: got %+v, %v", got, err)
	}
	good := payout.Setting{Schedule: "monthly", Rail: "simulated", Destination: "d"}
	for code, change := range map[string]func(*payout.Setting){
		"schedule_invalid":     func(p *payout.Setting) { p.Schedule = "daily" },
		"rail_invalid":         func(p *payout.Setting) { p.Rail = "cash" },
		"destination_required": func(p *payout.Setting) { p.Destination = "  " },
		"destination_long":     func(p *payout.Setting) { p.Destination = string(make([]byte, 201)) },
	} {
		in := good
		change(&in)
		if err := w.set(s, "acc_a", in); !fault.Is(err, code) {
			t.Errorf("%s: got %v", code, err)
		}
	}
	if err := w.set(s, "acc_none", good); !fault.Is(err, "provider_required") {
		t.Errorf("not a provider: got %v", err)
	}
	for range 2 {
		if err := w.set(s, "acc_a", good); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Setting(t.Context(), "acc_a"); err != nil || got != good {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestSimulatedRail(t *testing.T) {
	w := newWorld(t)
	r := simulated.New(w.db)
	p := payout.Payout{Reference: "pay_1", Destination: "d", Micro: 5}
	if out, err := r.Look(t.Context(), "pay_1"); err != nil || out != (payout.Outcome{}) {
		t.Errorf("unknown: got %+v, %v", out, err)
	}
	for range 2 {
		if err := r.Send(t.Context(), monday, p); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(*payout.Payout){
		"amount":       func(p *payout.Payout) { p.Micro = 6 },
		"destination":  func(p *payout.Payout) { p.Destination = "e" },
		"no reference": func(p *payout.Payout) { p.Reference = "" },
	} {
		q := p
		change(&q)
		if err := r.Send(t.Context(), monday, q); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if out, err := r.Look(t.Context(), "pay_1"); err != nil || !out.Paid {
		t.Errorf("got %+v, %v", out, err)
	}
	if n := w.sum(`SELECT sum(micro)::bigint FROM simulated_transfer`); n != 5 {
		t.Errorf("moved %d, want 5", n)
	}
}

func TestRailThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		rail  *flaky
		first int // paid at once
	}{
		"before acting":   {&flaky{before: 1}, 1},
		"answer lost":     {&flaky{after: 2}, 2},
		"look fails":      {&flaky{lookFails: 2}, 0},
		"all of it":       {&flaky{before: 1, after: 1, lookFails: 1}, 1},
		"no trouble":      {&flaky{}, 2},
		"before, forever": {&flaky{before: 2}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.provider("acc_a", 80*money.USDC)
			w.provider("acc_b", 60*money.USDC)
			c.rail.Rail = simulated.New(w.db)
			s := w.service(c.rail)
			sum, err := s.Run(t.Context(), monday)
			if sum.Paid != c.first || sum.Open != 2-c.first || (sum.Open > 0) != errors.Is(err, errRail) {
				t.Errorf("first: got %+v, %v", sum, err)
			}
			w.check()
			if sum = w.run(s, monday.AddDate(0, 0, 1)); sum.Paid != 2-c.first || sum.Planned != 0 || sum.Open != 0 {
				t.Errorf("second: got %+v", sum)
			}
			w.checkFinished(2, 140*money.USDC)
		})
	}
}

func TestUnknownRailLeavesThePayoutOpen(t *testing.T) {
	w := newWorld(t)
	w.provider("acc_a", 80*money.USDC)
	none := payout.New(w.db, w.ledger, nil, nil, payout.Config{Minimum: minimum})
	if sum, err := none.Run(t.Context(), monday); err == nil || sum.Open != 1 {
		t.Errorf("got %+v, %v", sum, err)
	}
	w.check()
	w.run(w.service(), monday)
	w.checkFinished(1, 80*money.USDC)
}
