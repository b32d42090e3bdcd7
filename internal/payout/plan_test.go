package payout_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/payout"
)

func TestPlan(t *testing.T) {
	to := payout.Setting{Schedule: "weekly", Rail: "simulated", Destination: "x"}
	payouts, skipped := payout.Plan([]payout.Standing{
		{ProviderID: "exact", Payable: 50, Setting: to},
		{ProviderID: "below", Payable: 49, Setting: to},
		{ProviderID: "nothing", Setting: to},
		{ProviderID: "nowhere", Payable: 60},
		{ProviderID: "suspended", Payable: 60, Suspended: true, Setting: to},
		{ProviderID: "more", ProviderName: "M", Payable: 61, Setting: to},
	}, 50)
	if len(payouts) != 2 || payouts[0].ProviderID != "exact" || payouts[1].Micro != 61 || payouts[1].ProviderName != "M" || payouts[1].State != payout.Planned {
		t.Errorf("payouts: got %+v", payouts)
	}
	for p, want := range map[string]string{"below": "below_minimum", "nothing": "below_minimum", "nowhere": "no_destination", "suspended": "suspended"} {
		if skipped[p] != want {
			t.Errorf("%s: got %q, want %q", p, skipped[p], want)
		}
	}
	if len(skipped) != 4 {
		t.Errorf("skipped: got %v", skipped)
	}
}

// With no minimum at all, nothing is still not paid.
func TestPlanNeverPaysNothing(t *testing.T) {
	payouts, _ := payout.Plan([]payout.Standing{{ProviderID: "p", Setting: payout.Setting{Destination: "x"}}}, 0)
	if len(payouts) != 0 {
		t.Errorf("got %+v", payouts)
	}
}

func TestPlanPaysOrExplainsEveryone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minimum := money.Micro(rapid.Int64Range(0, 100).Draw(t, "minimum"))
		var list []payout.Standing
		for i := range rapid.IntRange(0, 20).Draw(t, "n") {
			list = append(list, payout.Standing{
				ProviderID: string(rune('a' + i)), Suspended: rapid.Bool().Draw(t, "suspended"),
				Payable: money.Micro(rapid.Int64Range(0, 200).Draw(t, "payable")),
				Setting: payout.Setting{Destination: rapid.SampledFrom([]string{"", "x"}).Draw(t, "destination")},
			})
		}
		payouts, skipped := payout.Plan(list, minimum)
		if len(payouts)+len(skipped) != len(list) {
			t.Fatalf("%d paid, %d skipped, of %d", len(payouts), len(skipped), len(list))
		}
		for _, p := range payouts {
			if p.Micro < minimum || p.Micro <= 0 || p.Destination == "" || skipped[p.ProviderID] != "" {
				t.Fatalf("paid %+v", p)
			}
		}
	})
}
