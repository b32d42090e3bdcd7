package benchmark

import (
	"context"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/gpu"
	"github.com/gpunex/gpunex/internal/notice"
	"github.com/gpunex/gpunex/internal/protocol"
)

// Run is one benchmark over all GPUs of a host.
type Run struct {
	ID          string
	HostID      string
	Reason      string // connected, scheduled, hardware_changed, requested
	State       string // requested, running, passed, failed, interrupted, inconclusive
	RequestedAt time.Time
	FinishedAt  *time.Time
	Host        *protocol.HostFigures
	Simulated   bool
	Detail      string
}

// Verdict is what the newest finished run says of a GPU.
type Verdict struct {
	GPUID    string
	RunID    string
	At       time.Time
	Figures  []Measured
	Score    int     // 1000 = a healthy H100 SXM; 0: unrated
	Health   float64 // smallest measured ÷ expected of its own model; 0: unrated
	Passed   bool
	ProofOK  bool
	Failures []Failure
}

// Measured is one figure beside what the catalogue expects.
type Measured struct {
	Figure   gpu.Figure
	Value    float64
	Expected float64 // 0: the catalogue has none
	Ratio    float64
}

// Failure is a figure below its floor, or a proof that didn't hold.
type Failure struct {
	Code     string     `json:"code"`   // below_floor, proof_failed, proof_late, unrated, not_a_number
	Figure   gpu.Figure `json:"figure"` // for below_floor
	Value    float64    `json:"value"`
	Expected float64    `json:"expected"`
	Floor    float64    `json:"floor"` // as a ratio of Expected
}

// Config are the benchmark's numbers.
type Config struct {
	Every  time.Duration // between runs of an idle host; 7 days
	Size   int           // n of the proof's matrices: small where GPUs are simulated
	Rounds int
	Rows   int // opened per GPU
}

// The states of a run. It goes from requested to running when the host commits to its products, and to one of the others
// when it ends.
const (
	Requested    = "requested"
	Running      = "running"
	Passed       = "passed"
	Failed       = "failed"
	Interrupted  = "interrupted"  // a rental or a fault cut it short; earlier verdicts stay
	Inconclusive = "inconclusive" // the host didn't answer in time; earlier verdicts stay
)

// The reasons of a run.
const (
	Connected       = "connected"
	Scheduled       = "scheduled"
	HardwareChanged = "hardware_changed"
	Wanted          = "requested"
)

// Open says whether a run hasn't ended.
func (r Run) Open() bool { return r.State == Requested || r.State == Running }

// ProofFailed is why a GPU whose proof didn't hold is quarantined.
const ProofFailed = "proof_failed"

// notices is what the service needs of package notice.
type notices interface {
	Send(ctx context.Context, q db.Querier, now time.Time, n notice.Notice) error
}

// Service keeps runs, results and verdicts.
type Service struct {
	db      *db.DB
	fleet   *fleet.Service
	notices notices
	cfg     Config
}

// New makes the service.
func New(d *db.DB, f *fleet.Service, n *notice.Service, cfg Config) *Service {
	return &Service{db: d, fleet: f, notices: n, cfg: cfg}
}
