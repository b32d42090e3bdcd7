package sim

import (
	"github.com/gpunex/gpunex/internal/agentlink"
	"github.com/gpunex/gpunex/internal/controlplane"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/money"
)

// platform is one process of the platform: the domain's services and the side of the link that hosts speak with.
type platform struct {
	*controlplane.Services
	link *agentlink.Link
	cfg  controlplane.Config
}

// newPlatform starts a process on a database.
func newPlatform(d *db.DB) *platform {
	cfg := controlplane.Default()
	cfg.PublicURL = "http://sim.example"
	cfg.BenchmarkSize = 64
	cfg.PayoutMinimum = money.USDC / 100
	s := controlplane.NewServices(cfg, d, nil, nil)
	return &platform{Services: s, link: agentlink.New(s.Fleet, s.Benchmarks, s.Rentals, nil, "", cfg.Log), cfg: cfg}
}

// reboot is a new process on the same database.
func (w *World) reboot() { w.p = newPlatform(w.db) }
