package rental

import (
	"context"
	"errors"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/market"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/protocol"
)

// State is where a rental stands.
type State string

// The states.
const (
	Starting State = "starting"
	Running  State = "running"
	Stopping State = "stopping"
	Ended    State = "ended"
)

// Reason is why a rental ended: a closed set, each attributed.
type Reason string

// The reasons.
const (
	StoppedByCustomer Reason = "stopped_by_customer"
	Completed         Reason = "completed"
	WorkloadFailed    Reason = "workload_failed"
	FundsExhausted    Reason = "funds_exhausted"
	MaximumReached    Reason = "maximum_reached"
	WindowEnded       Reason = "window_ended"
	ProviderStopped   Reason = "provider_stopped"
	HostOffline       Reason = "host_offline"
	GPUFault          Reason = "gpu_fault"
	HostFault         Reason = "host_fault"
	ImageCannotStart  Reason = "image_cannot_start"
	PlatformFault     Reason = "platform_fault"
)

// Order is what a customer sends to rent.
type Order struct {
	QuoteID string
	IdemKey string // sending it again gives the same rental
	Image   string
	Command []string
	Env     map[string]string
	// MaxSpend and MaxDuration end the rental; zero: none.
	MaxSpend    money.Micro
	MaxDuration time.Duration
}

// Rental is GPUs of one host let to one customer.
type Rental struct {
	ID          string
	CustomerID  string
	ProviderID  string
	HostID      string
	HostName    string
	Model       string
	GPUs        int
	Micro       money.Micro // per GPU-hour
	FeeBPS      int
	Image       string
	Command     []string
	Env         map[string]string
	MaxSpend    money.Micro
	MaxMS       int64
	Simulated   bool
	State       State
	Phase       protocol.Phase
	Message     string
	ExitCode    *int
	RequestedAt time.Time
	RunningAt   *time.Time
	StopReason  Reason
	StopAt      *time.Time
	EndedAt     *time.Time
	EndReason   Reason
	Attributed  string // customer, provider, platform, nobody
	MeteredAt   *time.Time
	BilledMS    int64
	Charged     money.Micro // settled into the ledger
	Fee         money.Micro
	Settlements int
	WarnedAt    *time.Time
}

// Event is one step of a rental's life, for people.
type Event struct {
	At     time.Time
	State  string
	Detail string
}

// LogLine is one line of the workload's output.
type LogLine struct {
	Seq    int64
	At     time.Time
	Stream string
	Text   string
}

// Earnings are what a provider earned, live: settled and not yet settled.
type Earnings struct {
	Week     money.Micro // since Monday 00:00 UTC
	Month    money.Micro // since the 1st 00:00 UTC
	Total    money.Micro
	PerHour  money.Micro // what running rentals earn now
	ByGPU    []Slice     // this month
	ByModel  []Slice     // this month
	Days     []Day       // oldest first
	AsOf     time.Time
	Earned   money.Micro // in the books, not yet payable
	Payable  money.Micro
	LiveOpen money.Micro // metered and not yet in the books; part of Week, Month and Total
}

// Slice is one GPU's or model's part.
type Slice struct {
	ID    string // GPU identifier or model key
	Label string
	Micro money.Micro
	MS    int64 // billed GPU-milliseconds
}

// Day is one UTC day's part.
type Day struct {
	Date  time.Time
	Micro money.Micro
}

// Config are the rental's numbers.
type Config struct {
	Hold        time.Duration // that a rental holds money for; 1 hour
	SettleEvery time.Duration // 5 minutes
	Unreachable time.Duration // silence after which billing has stopped; 30 s
	Lost        time.Duration // silence after which the rental ends; 10 minutes
	StartLimit  time.Duration // a rental that isn't running after it ends as host fault; 30 minutes
	StopMargin  time.Duration // a rental stops so long before its money ends; 30 s
	Maturity    time.Duration // from earned to payable; 24 hours
}

// Hint tells a host that its desired state has changed, after the transaction; losing it costs one heartbeat.
type Hint func(host string)

// Service keeps rentals, their metering and their money.
type Service struct {
	db     *db.DB
	market *market.Service
	fleet  *fleet.Service
	ledger *ledger.Ledger
	hint   Hint
	cfg    Config
}

// New makes the service.
func New(d *db.DB, m *market.Service, f *fleet.Service, l *ledger.Ledger, hint Hint, cfg Config) *Service {
	return &Service{db: d, market: m, fleet: f, ledger: l, hint: hint, cfg: cfg}
}

var errStub = errors.New("not built yet")

// Start claims GPUs, holds money, makes the rental and bumps the host's revision, in one transaction.
// Faults: quote_not_found, quote_expired, quote_used, offer_gone (GPUs were let meanwhile), funds_short (args need, have),
// key_reused, image_required, image_invalid, env_forbidden, command_long, max_spend_invalid.
func (s *Service) Start(ctx context.Context, now time.Time, who account.Identity, o Order) (Rental, error) {
	return Rental{}, errStub
}

// Stop ends a rental at the customer's wish; stopping twice is harmless.
func (s *Service) Stop(ctx context.Context, now time.Time, who account.Identity, id string) (Rental, error) {
	return Rental{}, errStub
}

// Get gives a rental of the customer, of the provider whose host it is on, or of anyone for an operator. Fault: rental_not_found.
func (s *Service) Get(ctx context.Context, who account.Identity, id string) (Rental, error) {
	return Rental{}, errStub
}

// List gives the customer's rentals, newest first.
func (s *Service) List(ctx context.Context, who account.Identity, limit int) ([]Rental, error) {
	return nil, errStub
}

// OnHosts gives the open rentals on a provider's hosts ("" for all).
func (s *Service) OnHosts(ctx context.Context, provider string) ([]Rental, error) {
	return nil, errStub
}

// Events gives a rental's life.
func (s *Service) Events(ctx context.Context, id string) ([]Event, error) { return nil, errStub }

// Logs gives lines with a greater Seq than after (-1 for all), oldest first.
func (s *Service) Logs(ctx context.Context, id string, after int64, limit int) ([]LogLine, error) {
	return nil, errStub
}

// Live is the charge up to now, settled or not: exact, never stored.
func (r Rental) Live(now time.Time, unreachable time.Duration) money.Micro { return 0 }

// Desired gives the workloads that should exist on a host.
func (s *Service) Desired(ctx context.Context, q db.Querier, host string) ([]protocol.Workload, error) {
	return nil, errStub
}

// Observe applies what a host reports of its workloads: states, metering, ends.
func (s *Service) Observe(ctx context.Context, now time.Time, host string, hb protocol.Heartbeat) error {
	return errStub
}

// AppendLog stores lines of a rental on this host; lines that it has are ignored.
func (s *Service) AppendLog(ctx context.Context, host string, c protocol.LogChunk) (protocol.LogReply, error) {
	return protocol.LogReply{}, errStub
}

// Sweep does what time does to rentals: settle every five minutes, extend holds, warn and stop before money ends, stop
// at maxima, end what is lost. One pass.
func (s *Service) Sweep(ctx context.Context, now time.Time) error { return errStub }

// Mature makes earnings payable that are old enough: one pass.
func (s *Service) Mature(ctx context.Context, now time.Time) (matured money.Micro, err error) {
	return 0, errStub
}

// Earnings gives a provider's earnings, the days of the last 90 days.
func (s *Service) Earnings(ctx context.Context, now time.Time, provider string) (Earnings, error) {
	return Earnings{}, errStub
}
