package payout

import (
	"context"
	"time"

	"github.com/gpunex/gpunex/internal/money"
)

// State is where a payout stands.
type State string

// The states: planned → sending → paid, or returned when the rail can't pay it.
const (
	Planned  State = "planned"
	Sending  State = "sending"
	Paid     State = "paid"
	Returned State = "returned"
)

// Payout is money sent to a provider.
type Payout struct {
	ID           string
	RunID        string
	ProviderID   string
	ProviderName string
	Micro        money.Micro
	Rail         string // simulated
	Destination  string
	State        State
	Reference    string
	Detail       string
	PeriodEnd    time.Time // exclusive
	PlannedAt    time.Time
	SendingAt    *time.Time
	SettledAt    *time.Time
}

// Setting is how a provider wants to be paid.
type Setting struct {
	Schedule    string // weekly, monthly
	Rail        string // simulated
	Destination string
}

// Next is when and what the next payout will be.
type Next struct {
	At       time.Time
	Schedule string
	Payable  money.Micro // now
	Earned   money.Micro // becomes payable later
	Minimum  money.Micro
	// Reason says why nothing would be paid now: below_minimum, no_destination, suspended, or empty.
	Reason string
}

// Summary is what one run did.
type Summary struct {
	PeriodEnd time.Time // the newest that was looked at
	Planned   int
	Paid      int
	Returned  int
	Open      int         // still sending
	Micro     money.Micro // planned
	// Skipped providers and why, by account identifier: below_minimum, no_destination, suspended.
	Skipped map[string]string
}

// Rail moves money. Both methods may be called again with the same reference: it moves once. A reference that was
// returned stays returned, whatever is sent under it later.
type Rail interface {
	Name() string
	// Send asks for the transfer. A nil error doesn't mean paid.
	Send(ctx context.Context, now time.Time, p Payout) error
	// Look says what became of a reference: paid, returned (with the reason), or neither yet.
	Look(ctx context.Context, reference string) (Outcome, error)
}

// Outcome is what a rail knows of a transfer.
type Outcome struct {
	Paid     bool
	Returned string // why; empty: not returned
}
