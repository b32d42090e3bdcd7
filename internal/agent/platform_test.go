package agent_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/agent"
	"github.com/gpunex/gpunex/internal/agent/hardware"
	"github.com/gpunex/gpunex/internal/agent/simruntime"
	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

// platform is the other side of the link, kept in memory.
type platform struct {
	mu       sync.Mutex
	desired  protocol.Desired
	refusal  *protocol.Refusal
	away     bool
	hellos   []protocol.Hello
	beats    []protocol.Heartbeat
	fetches  int
	lines    map[string][]protocol.LogLine
	commits  []protocol.BenchCommit
	results  []protocol.BenchResult
	open     protocol.BenchOpen
	onCommit func()
	changed  chan struct{} // told of each message
}

func newPlatform() *platform {
	return &platform{desired: protocol.Desired{Revision: 1}, lines: map[string][]protocol.LogLine{}, changed: make(chan struct{}, 1)}
}

var errAway = errors.New("platform away")

func (p *platform) enter() (func(), error) {
	p.mu.Lock()
	select {
	case p.changed <- struct{}{}:
	default:
	}
	if p.away {
		return p.mu.Unlock, errAway
	}
	return p.mu.Unlock, nil
}

func (p *platform) Hello(_ context.Context, m protocol.Hello) (protocol.HelloReply, error) {
	leave, err := p.enter()
	defer leave()
	p.hellos = append(p.hellos, m)
	return protocol.HelloReply{Refusal: p.refusal, IntervalMS: 10_000, Revision: p.desired.Revision}, err
}

func (p *platform) Heartbeat(_ context.Context, m protocol.Heartbeat) (protocol.HeartbeatReply, error) {
	leave, err := p.enter()
	defer leave()
	if err == nil {
		p.beats = append(p.beats, m)
	}
	return protocol.HeartbeatReply{IntervalMS: 10_000, Revision: p.desired.Revision}, err
}

func (p *platform) Desired(context.Context, protocol.DesiredRequest) (protocol.Desired, error) {
	leave, err := p.enter()
	defer leave()
	p.fetches++
	d := p.desired
	d.Workloads = slices.Clone(d.Workloads)
	return d, err
}

func (p *platform) Log(_ context.Context, m protocol.LogChunk) (protocol.LogReply, error) {
	leave, err := p.enter()
	defer leave()
	for _, l := range m.Lines {
		if l.Seq == int64(len(p.lines[m.Rental])) {
			p.lines[m.Rental] = append(p.lines[m.Rental], l)
		}
	}
	return protocol.LogReply{Next: int64(len(p.lines[m.Rental]))}, err
}

func (p *platform) Commit(_ context.Context, m protocol.BenchCommit) (protocol.BenchOpen, error) {
	leave, err := p.enter()
	defer leave()
	p.commits = append(p.commits, m)
	if p.onCommit != nil {
		p.onCommit()
	}
	return p.open, err
}

func (p *platform) Result(_ context.Context, m protocol.BenchResult) (protocol.BenchReply, error) {
	leave, err := p.enter()
	defer leave()
	p.results = append(p.results, m)
	return protocol.BenchReply{Passed: m.Interrupted == ""}, err
}

// want changes the desired state.
func (p *platform) want(ws ...protocol.Workload) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.desired.Revision++
	p.desired.Workloads = ws
}

func (p *platform) setAway(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

// last is the newest heartbeat, with the phase of each workload.
func (p *platform) last() (protocol.Heartbeat, map[string]protocol.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.beats) == 0 {
		return protocol.Heartbeat{}, nil
	}
	b := p.beats[len(p.beats)-1]
	m := map[string]protocol.Status{}
	for _, s := range b.Workloads {
		m[s.Rental] = s
	}
	return b, m
}

// await waits until a message makes a condition true.
func (p *platform) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-p.changed:
		case <-deadline:
			_, phases := p.last()
			t.Fatalf("not within 20 s: %s; last heartbeat %+v", what, phases)
		}
	}
}

func (p *platform) awaitPhase(t *testing.T, rental string, phase protocol.Phase) protocol.Status {
	t.Helper()
	var s protocol.Status
	p.await(t, rental+" is "+string(phase), func() bool {
		_, all := p.last()
		s = all[rental]
		return s.Phase == phase
	})
	return s
}

// world is one simulated host under virtual time.
type world struct {
	*platform
	t    *testing.T
	now  time.Time
	dir  string
	sim  *simruntime.Runtime
	host *agent.Host
	gpus []string
}

func newWorld(t *testing.T) *world {
	w := &world{platform: newPlatform(), t: t, now: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC), dir: t.TempDir()}
	var err error
	if w.sim, err = simruntime.Open(w.dir, workload.Info{Runtime: "simulated", CPUs: 8, RAMMiB: 1024}, w.clock); err != nil {
		t.Fatal(err)
	}
	w.restart()
	return w
}

func (w *world) clock() time.Time { return w.now }

// restart makes a new Host over the same state directory, as a new process would.
func (w *world) restart() {
	w.t.Helper()
	if w.host != nil {
		w.host.Close()
	}
	cfg := config(w.t, w.dir, w.platform, w.clock)
	w.gpus = cfg.Driver.(*hardware.Simulated).UUIDs()
	cfg.Runtime, cfg.Info = w.sim, w.sim.Info
	var err error
	if w.host, err = agent.New(cfg); err != nil {
		w.t.Fatal(err)
	}
}

func config(t *testing.T, dir string, p *platform, now func() time.Time) agent.Config {
	t.Helper()
	profile, err := hardware.Load("h100-sxmx2", "test")
	if err != nil {
		t.Fatal(err)
	}
	driver := hardware.NewSimulated(profile, now)
	return agent.Config{
		Version: "test", StateDir: dir, Driver: driver, Meter: driver, Simulated: true, Link: p, Now: now, Log: slog.New(slog.DiscardHandler),
	}
}

// tick lets time pass and the host do one pass.
func (w *world) tick(d time.Duration) {
	w.t.Helper()
	w.now = w.now.Add(d)
	if err := w.host.Tick(w.t.Context(), w.now); err != nil {
		w.t.Fatalf("tick: %v", err)
	}
}

func (w *world) phases(want map[string]protocol.Phase) {
	w.t.Helper()
	_, got := w.last()
	for rental, phase := range want {
		if got[rental].Phase != phase {
			w.t.Errorf("%s is %+v, want %s", rental, got[rental], phase)
		}
	}
	if len(got) != len(want) {
		w.t.Errorf("heartbeat tells %+v, want %v", got, want)
	}
}

func (w *world) running() []string {
	w.t.Helper()
	states, err := w.sim.List(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	var rs []string
	for _, s := range states {
		if s.Phase == workload.Running {
			rs = append(rs, s.Rental)
		}
	}
	return rs
}

func runs(rental string, gpus ...string) protocol.Workload {
	return protocol.Workload{Rental: rental, Want: protocol.WantRunning, Image: "gpunex/hello:1", GPUs: gpus, CPUs: 1, RAMMiB: 64}
}

func stopped(w protocol.Workload) protocol.Workload {
	w.Want = protocol.WantStopped
	return w
}
