package agentlink

import (
	"context"
	"log/slog"
	"time"

	"github.com/gpunex/gpunex/internal/benchmark"
	"github.com/gpunex/gpunex/internal/bus"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/protocol"
)

// Rentals is what the link needs of package rental.
type Rentals interface {
	Desired(ctx context.Context, q db.Querier, host string) ([]protocol.Workload, error)
	Observe(ctx context.Context, now time.Time, host string, hb protocol.Heartbeat) error
	AppendLog(ctx context.Context, host string, c protocol.LogChunk) (protocol.LogReply, error)
}

// credentialTTL is how long a host may stay away before it must prove itself over HTTP again.
const credentialTTL = 24 * time.Hour

// Link answers hosts.
type Link struct {
	fleet      *fleet.Service
	benchmarks *benchmark.Service
	rentals    Rentals
	bus        *bus.Bus
	public     string // how hosts reach the bus; empty: as the bus says
	log        *slog.Logger
}

// New makes the link. A nil bus does where hosts call Hello and the others directly, as in a simulation.
func New(f *fleet.Service, b *benchmark.Service, r Rentals, conn *bus.Bus, public string, log *slog.Logger) *Link {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Link{fleet: f, benchmarks: b, rentals: r, bus: conn, public: public, log: log}
}
