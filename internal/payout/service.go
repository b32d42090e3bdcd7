package payout

import (
	"context"
	"errors"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/notice"
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
	// Reason says why nothing would be paid now: below_minimum, no_destination, or empty.
	Reason string
}

// Summary is what one run did.
type Summary struct {
	PeriodEnd time.Time
	Planned   int
	Paid      int
	Returned  int
	Open      int // still sending
	Micro     money.Micro
	// Skipped providers and why, by account identifier: below_minimum, no_destination, suspended.
	Skipped map[string]string
}

// Rail moves money. Both methods may be called again with the same reference: it moves once.
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

// Config are the payouts' numbers.
type Config struct {
	Minimum money.Micro // 50 USDC
}

// Service plans, sends and settles payouts.
type Service struct {
	db      *db.DB
	ledger  *ledger.Ledger
	notices *notice.Service
	rails   []Rail
	cfg     Config
}

// New makes the service.
func New(d *db.DB, l *ledger.Ledger, n *notice.Service, rails []Rail, cfg Config) *Service {
	return &Service{db: d, ledger: l, notices: n, rails: rails, cfg: cfg}
}

var errStub = errors.New("not built yet")

// Run plans the newest period that has ended, sends what is planned and settles what was sent. Running it again does
// only what is left; it may be killed anywhere.
func (s *Service) Run(ctx context.Context, now time.Time) (Summary, error) {
	return Summary{}, errStub
}

// Preview is a dry run: what Run would plan at now.
func (s *Service) Preview(ctx context.Context, now time.Time) ([]Payout, Summary, error) {
	return nil, Summary{}, errStub
}

// Of lists a provider's payouts, newest first; provider "" lists all, for operators.
func (s *Service) Of(ctx context.Context, provider string, limit int) ([]Payout, error) {
	return nil, errStub
}

// Next says when the provider's next payout is and what it would hold.
func (s *Service) Next(ctx context.Context, now time.Time, provider string) (Next, error) {
	return Next{}, errStub
}

// Setting gives how a provider is paid; weekly by the simulated rail until set.
func (s *Service) Setting(ctx context.Context, provider string) (Setting, error) {
	return Setting{}, errStub
}

// Set changes it. Faults: schedule_invalid, rail_invalid, destination_required.
func (s *Service) Set(ctx context.Context, now time.Time, who account.Identity, in Setting) error {
	return errStub
}
