package fleet

import (
	"context"
	"errors"
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

var errStub = errors.New("not built yet")

// Issue makes an enrolment token, in the caller's transaction (or the pool), and gives its secret.
func (s *Service) Issue(ctx context.Context, q db.Querier, now time.Time, provider string, maxHosts int) (secret string, err error) {
	return "", errStub
}

// Tokens lists a provider's tokens, newest first.
func (s *Service) Tokens(ctx context.Context, provider string) ([]Token, error) { return nil, errStub }

// Revoke ends a token. Fault: token_not_found.
func (s *Service) Revoke(ctx context.Context, now time.Time, provider, tokenID string) error {
	return errStub
}

// Enrol exchanges a token for a host. Enrolling the same key again with the same token gives the same host.
// Faults: token_unknown, token_used, token_expired, token_revoked, clock_off, protocol_old, key_taken (a key of another provider's host).
func (s *Service) Enrol(ctx context.Context, now time.Time, r protocol.EnrolRequest) (Host, error) {
	return Host{}, errStub
}

// Host gives one host.
func (s *Service) Host(ctx context.Context, id string) (Host, error) { return Host{}, errStub }

// Hosts lists a provider's hosts; provider "" lists all, for operators.
func (s *Service) Hosts(ctx context.Context, provider string) ([]Host, error) { return nil, errStub }

// GPUs lists a host's GPUs in their order.
func (s *Service) GPUs(ctx context.Context, host string) ([]GPU, error) { return nil, errStub }

// Hello records what a host has. changed says that its GPUs or driver aren't those of the last hello.
// Refused: clock_off, protocol_old; absurd hardware is quarantined, never listed.
func (s *Service) Hello(ctx context.Context, now time.Time, host string, h protocol.Hello) (reply protocol.HelloReply, changed bool, err error) {
	return protocol.HelloReply{}, false, errStub
}

// RecordHeartbeat extends the host's presence to now and stores what the GPUs do.
func (s *Service) RecordHeartbeat(ctx context.Context, now time.Time, host string, hb protocol.Heartbeat) (protocol.HeartbeatReply, error) {
	return protocol.HeartbeatReply{}, errStub
}

// Sweep marks hosts offline that have been silent too long, closing their presence at the last heartbeat. It gives
// their identifiers.
func (s *Service) Sweep(ctx context.Context, now time.Time) (offline []string, err error) {
	return nil, errStub
}

// Bump raises a host's desired revision in the caller's transaction: something that it should do has changed.
func (s *Service) Bump(ctx context.Context, q db.Querier, host string) (revision int64, err error) {
	return 0, errStub
}

// Quarantine keeps a GPU out of the market with a reason; an empty reason lifts it.
func (s *Service) Quarantine(ctx context.Context, q db.Querier, gpuID, why string) error {
	return errStub
}
