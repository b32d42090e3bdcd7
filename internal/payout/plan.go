package payout

import "github.com/gpunex/gpunex/internal/money"

// Standing is what the plan needs to know of a provider.
type Standing struct {
	ProviderID   string
	ProviderName string
	Suspended    bool
	Payable      money.Micro
	Setting      Setting
}

// Why nothing is paid to a provider.
const (
	suspended     = "suspended"
	noDestination = "no_destination"
	belowMinimum  = "below_minimum"
)

// obstacle is why a provider isn't paid, or empty. The reason that holds longest comes first.
func obstacle(s Standing, minimum money.Micro) string {
	switch {
	case s.Suspended:
		return suspended
	case s.Setting.Destination == "":
		return noDestination
	case s.Payable < minimum || s.Payable <= 0:
		return belowMinimum
	}
	return ""
}

// Plan decides who is paid and how much: all that is payable. It has no identifiers and no times; those come when the
// decision is written down. Skipped says why not, by account identifier.
func Plan(standings []Standing, minimum money.Micro) (payouts []Payout, skipped map[string]string) {
	skipped = map[string]string{}
	for _, s := range standings {
		if why := obstacle(s, minimum); why != "" {
			skipped[s.ProviderID] = why
			continue
		}
		payouts = append(payouts, Payout{
			ProviderID: s.ProviderID, ProviderName: s.ProviderName, Micro: s.Payable, State: Planned,
			Rail: s.Setting.Rail, Destination: s.Setting.Destination,
		})
	}
	return payouts, skipped
}
