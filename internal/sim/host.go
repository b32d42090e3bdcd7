package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/gpunex/gpunex/internal/agent"
	"github.com/gpunex/gpunex/internal/agent/hardware"
	"github.com/gpunex/gpunex/internal/agent/simruntime"
	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

// host is one simulated machine: an engine, an agent and the wire between it and the platform.
type host struct {
	w      *World
	index  int
	name   string
	id     string // after enrolment
	owner  *seller
	model  string
	gpus   int
	dir    string
	skew   time.Duration // of the machine's clock
	driver *hardware.Simulated
	engine *simruntime.Runtime
	agent  *agent.Host // nil while it is down
	wire   *wire
	// downUntil is when a stopped agent comes back, awayUntil when the engine does.
	downUntil, awayUntil time.Time
}

// newHost makes a machine that isn't enrolled yet.
func (w *World) newHost(index int, owner *seller, model string, gpus int) (*host, error) {
	h := &host{
		w: w, index: index, name: fmt.Sprintf("h%d", index), owner: owner, model: model, gpus: gpus,
		dir:  filepath.Join(w.cfg.Dir, fmt.Sprintf("host%d", index)),
		skew: w.between(-3*time.Second, 3*time.Second),
	}
	h.wire = &wire{w: w, h: h}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, err
	}
	profile, err := hardware.Load(fmt.Sprintf("%sx%d", model, gpus), fmt.Sprintf("sim-%d-%d", w.cfg.Seed, index))
	if err != nil {
		return nil, err
	}
	h.driver = hardware.NewSimulated(profile, h.clock)
	info := workload.Info{Runtime: "simulated", Version: "sim", Isolation: []string{"runc"}, CPUs: 64, RAMMiB: 512 << 10, DiskMiB: 4 << 20, Kernel: "6.8"}
	// In memory: an engine outlives its agent.
	h.engine, err = simruntime.Open("", info, h.clock)
	return h, err
}

// clock is the machine's own.
func (h *host) clock() time.Time { return h.w.now.Add(h.skew) }

// enrol makes the machine a host of its provider.
func (h *host) enrol(ctx context.Context, token string) error {
	key, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	public, err := key.PublicKey()
	if err != nil {
		return err
	}
	e, err := h.w.p.Fleet.Enrol(ctx, h.w.now, protocol.EnrolRequest{
		Protocol: protocol.Version, AgentVersion: "sim", Token: token, PublicKey: public, Hostname: h.name, HostTime: h.clock(),
	})
	if err != nil {
		return fmt.Errorf("enrol %s: %w", h.name, err)
	}
	h.id = e.ID
	return h.boot()
}

// boot starts an agent's process on the machine's state.
func (h *host) boot() error {
	h.halt()
	a, err := agent.New(agent.Config{
		Version: "sim", StateDir: h.dir, Runtime: h.engine, Info: h.engine.Info, Driver: h.driver, Meter: h.driver, Simulated: true,
		Link: h.wire, Now: h.clock, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return fmt.Errorf("agent of %s: %w", h.name, err)
	}
	h.agent, h.downUntil = a, time.Time{}
	return nil
}

// halt ends the agent's process; containers run on.
func (h *host) halt() {
	if h.agent != nil {
		_ = h.agent.Close() // the journal is synced line by line
		h.agent = nil
	}
}

// tick lets the machine do what is due.
func (h *host) tick(ctx context.Context) error {
	if !h.awayUntil.IsZero() && !h.w.now.Before(h.awayUntil) {
		h.comeBack()
	}
	if h.agent == nil {
		if h.w.now.Before(h.downUntil) {
			return nil
		}
		if err := h.boot(); err != nil {
			return err
		}
		h.w.note("  %s: agent is back", h.name)
	}
	h.wire.flush(ctx)
	err := h.agent.Tick(ctx, h.clock())
	h.w.oracle.look(h.w.now, h)
	var refusal *protocol.Refusal
	switch {
	case errors.As(err, &refusal):
		return fmt.Errorf("%s is refused: %w", h.name, err)
	case err != nil && !errors.Is(err, errLost) && !errors.Is(err, workload.ErrAway):
		return fmt.Errorf("%s: %w", h.name, err)
	}
	return nil
}

// goAway makes the engine unreachable; its containers run on.
func (h *host) goAway(until time.Time) {
	h.engine.SetAway(true)
	h.awayUntil = until
}

func (h *host) comeBack() {
	h.engine.SetAway(false)
	h.awayUntil = time.Time{}
}

// containers lists what the engine has, even when it answers nobody else, by the machine's clock.
func (h *host) containers() []workload.State {
	away := !h.awayUntil.IsZero()
	if away {
		h.engine.SetAway(false)
		defer h.engine.SetAway(true)
	}
	list, _ := h.engine.List(context.Background()) // it fails only when away
	return list
}

// running gives the rentals whose containers run.
func (h *host) running() []string {
	var ids []string
	for _, c := range h.containers() {
		if c.Phase == workload.Running {
			ids = append(ids, c.Rental)
		}
	}
	return ids
}
