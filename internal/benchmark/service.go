package benchmark

import (
	"context"
	"errors"
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

// Service keeps runs, results and verdicts.
type Service struct {
	db      *db.DB
	fleet   *fleet.Service
	notices *notice.Service
	cfg     Config
}

// New makes the service.
func New(d *db.DB, f *fleet.Service, n *notice.Service, cfg Config) *Service {
	return &Service{db: d, fleet: f, notices: n, cfg: cfg}
}

var errStub = errors.New("not built yet")

// Request asks for a run, unless one is open. It bumps the host's revision.
func (s *Service) Request(ctx context.Context, now time.Time, host, reason string) (Run, error) {
	return Run{}, errStub
}

// Due requests the periodic runs: one pass.
func (s *Service) Due(ctx context.Context, now time.Time) (requested int, err error) {
	return 0, errStub
}

// Order gives the open run of a host for its desired state; nil when there is none or a rental uses a GPU.
func (s *Service) Order(ctx context.Context, q db.Querier, host string) (*protocol.BenchOrder, error) {
	return nil, errStub
}

// Commit stores the host's roots, then chooses round and rows at random. Committing again gives the same answer.
func (s *Service) Commit(ctx context.Context, now time.Time, host string, c protocol.BenchCommit) (protocol.BenchOpen, error) {
	return protocol.BenchOpen{}, errStub
}

// Result verifies the proof, judges the figures, stores both, mails the provider when a GPU leaves or re-enters the market.
func (s *Service) Result(ctx context.Context, now time.Time, host string, r protocol.BenchResult) (protocol.BenchReply, error) {
	return protocol.BenchReply{}, errStub
}

// Runs lists a host's runs, newest first.
func (s *Service) Runs(ctx context.Context, host string, limit int) ([]Run, error) {
	return nil, errStub
}

// Verdicts gives the newest verdict of each GPU, by GPU identifier.
func (s *Service) Verdicts(ctx context.Context, gpuIDs []string) (map[string]Verdict, error) {
	return nil, errStub
}
