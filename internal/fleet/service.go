package fleet

import (
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/protocol"
)

// Token lets hosts enrol for a provider. The secret itself is shown once and stored hashed.
type Token struct {
	ID        string
	Hint      string // last four characters of the secret
	CreatedAt time.Time
	ExpiresAt time.Time
	RevokedAt *time.Time
	MaxHosts  int
	Used      int
}

// Host is one machine of a provider.
type Host struct {
	ID              string
	ProviderID      string
	Name            string
	PublicKey       string
	AgentVersion    string
	Hardware        *protocol.Hardware // nil before the first hello
	Simulated       bool
	City            string
	Country         string
	Region          string
	DesiredRevision int64
	AppliedRevision int64
	LastSeen        *time.Time
	Online          bool
	EnrolledAt      time.Time
	RetiredAt       *time.Time // it may no longer connect
}

// GPU is one physical device.
type GPU struct {
	ID         string
	HostID     string
	UUID       string
	Position   int
	Model      string // catalogue key, or the driver's name for it
	VRAMMiB    int64
	Detail     protocol.GPU
	Present    bool
	Fault      string
	Quarantine string
	Telemetry  *protocol.Telemetry
}

// Config are the fleet's numbers.
type Config struct {
	TokenTTL    time.Duration // how long an enrolment token lives; 14 days
	Interval    time.Duration // between heartbeats; 10 s
	Unreachable time.Duration // silence after which a host is offline; 30 s
}

// Service keeps hosts, GPUs, enrolment and presence.
type Service struct {
	db  *db.DB
	cfg Config
}

// New makes the service.
func New(d *db.DB, cfg Config) *Service { return &Service{db: d, cfg: cfg} }

// Reasons of Quarantine that the fleet itself finds.
const (
	SeenTwice  = "uuid_seen_twice" // two hosts say that they have this GPU
	AbsurdVRAM = "vram_absurd"     // no such memory exists; it lifts by itself when the host says otherwise
)

// interval is what hosts are told.
func (s *Service) interval() int64 { return s.cfg.Interval.Milliseconds() }
