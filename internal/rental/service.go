package rental

import (
	"sync"
	"time"

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

	mu    sync.Mutex
	awake time.Time // since when this process has been able to hear hosts

	// crashAt makes tests fail at a durable step.
	crashAt func(step string) error
}

// New makes the service.
func New(d *db.DB, m *market.Service, f *fleet.Service, l *ledger.Ledger, hint Hint, cfg Config) *Service {
	return &Service{db: d, market: m, fleet: f, ledger: l, hint: hint, cfg: cfg}
}

// tick is the moment of a call in whole milliseconds, the unit of metering. The first call is when this process woke.
func (s *Service) tick(now time.Time) time.Time {
	now = now.UTC().Truncate(time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.awake.IsZero() {
		s.awake = now
	}
	return now
}

// silence is for how long a host that was last heard at seen has been silent while somebody listened.
func (s *Service) silence(now time.Time, seen *time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.awake
	if seen != nil && seen.After(since) {
		since = *seen
	}
	return now.Sub(since)
}

// tell hints after the transaction.
func (s *Service) tell(host string) {
	if s.hint != nil {
		s.hint(host)
	}
}

func (s *Service) crash(step string) error {
	if s.crashAt == nil {
		return nil
	}
	return s.crashAt(step)
}
