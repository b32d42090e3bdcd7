package agent_test

import (
	"errors"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

type phases = map[string]protocol.Phase

func TestRentalFromStartToEnd(t *testing.T) {
	w := newWorld(t)
	w.tick(0)
	if len(w.hellos) != 1 || !w.hellos[0].Hardware.Simulated || len(w.hellos[0].Hardware.GPUs) != 2 || w.hellos[0].Protocol != protocol.Version {
		t.Fatalf("hello %+v", w.hellos)
	}
	w.want(runs("rnt_1", w.gpus[0]))
	w.tick(10 * time.Second)
	w.phases(phases{"rnt_1": protocol.PhaseRunning})
	if b, _ := w.last(); b.Applied != 2 || !b.Complete || len(b.GPUs) != 2 {
		t.Errorf("heartbeat %+v", b)
	}
	w.want(stopped(runs("rnt_1", w.gpus[0])))
	w.tick(10 * time.Second)
	w.phases(phases{"rnt_1": protocol.PhaseStopped})
	w.tick(time.Hour)
	w.phases(phases{"rnt_1": protocol.PhaseStopped}) // until the platform drops it
	w.want()
	w.tick(10 * time.Second)
	w.tick(10 * time.Second)
	w.phases(phases{})
}

func TestStopsOneAndStartsTheNextOnItsGPU(t *testing.T) {
	w := newWorld(t)
	a, b := runs("rnt_a", w.gpus...), runs("rnt_b", w.gpus[1])
	w.want(a)
	w.tick(0)
	w.want(stopped(a), b)
	w.tick(10 * time.Second)
	w.tick(2 * time.Second)
	w.phases(phases{"rnt_a": protocol.PhaseStopped, "rnt_b": protocol.PhaseRunning})
}

func TestEndsByItselfAndNeverRunsAgain(t *testing.T) {
	w := newWorld(t)
	a := runs("rnt_a")
	a.Command = []string{"exit", "5"}
	w.want(a)
	w.tick(0)
	w.tick(2 * time.Second)
	_, s := w.last()
	if s["rnt_a"].Phase != protocol.PhaseExited || s["rnt_a"].ExitCode == nil || *s["rnt_a"].ExitCode != 5 {
		t.Fatalf("status %+v", s)
	}
	for range 3 {
		w.restart()
		w.tick(time.Minute)
		w.phases(phases{"rnt_a": protocol.PhaseExited})
	}
	if err := w.sim.Lose("rnt_a"); err != nil { // even without its container
		t.Fatal(err)
	}
	w.tick(time.Minute)
	w.phases(phases{"rnt_a": protocol.PhaseExited})
	if r := w.running(); len(r) > 0 {
		t.Errorf("running: %v", r)
	}
}

func TestFailures(t *testing.T) {
	w := newWorld(t)
	missing, empty := runs("rnt_missing"), runs("rnt_empty")
	missing.Image, empty.Image = "a/missing", "a/noshell"
	w.want(missing, empty, runs("rnt_good"))
	w.tick(0)
	w.phases(phases{"rnt_missing": protocol.PhaseFailed, "rnt_empty": protocol.PhaseFailed, "rnt_good": protocol.PhaseRunning})
	_, s := w.last()
	if s["rnt_missing"].Code != protocol.FailImage || s["rnt_empty"].Code != protocol.FailCommand || s["rnt_empty"].Message == "" {
		t.Errorf("statuses %+v", s)
	}
}

func TestRestartAdopts(t *testing.T) {
	w := newWorld(t)
	w.want(runs("rnt_a"))
	w.tick(0)
	_, before := w.last()
	w.restart()
	w.setAway(true) // the platform's silence changes nothing
	w.now = w.now.Add(time.Minute)
	if err := w.host.Tick(t.Context(), w.now); !errors.Is(err, errAway) {
		t.Errorf("tick gave %v", err)
	}
	w.setAway(false)
	w.tick(time.Minute)
	_, after := w.last()
	if !after["rnt_a"].StartedAt.Equal(*before["rnt_a"].StartedAt) || len(w.running()) != 1 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func TestVanishedContainerIsLost(t *testing.T) {
	w := newWorld(t)
	w.want(runs("rnt_a"))
	w.tick(0)
	if err := w.sim.Lose("rnt_a"); err != nil {
		t.Fatal(err)
	}
	w.tick(2 * time.Second)
	w.phases(phases{"rnt_a": protocol.PhaseLost})
	if len(w.running()) > 0 {
		t.Error("it was started again")
	}
}

func TestEngineAwayEndsNothing(t *testing.T) {
	w := newWorld(t)
	a := runs("rnt_a")
	w.want(a)
	w.tick(0)
	w.sim.SetAway(true)
	for range 20 {
		w.now = w.now.Add(10 * time.Second)
		if err := w.host.Tick(t.Context(), w.now); !errors.Is(err, workload.ErrAway) {
			t.Fatalf("tick gave %v", err)
		}
		b, s := w.last()
		if b.Complete || len(s) != 0 {
			t.Fatalf("heartbeat %+v", b)
		}
	}
	w.sim.SetAway(false)
	w.tick(10 * time.Second)
	w.phases(phases{"rnt_a": protocol.PhaseRunning})
}

func TestOrphansGoOnlyAfterGraceAndASecondWord(t *testing.T) {
	w := newWorld(t)
	w.want(runs("rnt_a"))
	w.tick(0)
	w.want()
	w.tick(10 * time.Second)
	w.tick(50 * time.Second)
	if len(w.running()) != 1 {
		t.Fatal("removed within its grace")
	}
	w.setAway(true)
	w.now = w.now.Add(time.Hour)
	_ = w.host.Tick(t.Context(), w.now) // fails: the platform is away
	if len(w.running()) != 1 {
		t.Fatal("removed without a fresh word of the platform")
	}
	w.setAway(false)
	fetches := w.fetches
	w.tick(10 * time.Second)
	if len(w.running()) != 0 || w.fetches == fetches {
		t.Errorf("running %v, asked again %v", w.running(), w.fetches > fetches)
	}
	w.tick(10 * time.Second)
	w.tick(10 * time.Second)
	w.phases(phases{})
}

func TestPlatformThatForgotKeepsOrphanThatItNamesAgain(t *testing.T) {
	w := newWorld(t)
	w.want(runs("rnt_a"))
	w.tick(0)
	w.want()
	w.tick(10 * time.Second)
	w.want(runs("rnt_a"))
	w.tick(50 * time.Second)
	w.tick(time.Hour)
	w.phases(phases{"rnt_a": protocol.PhaseRunning})
}

func TestRefusedHostDoesNothing(t *testing.T) {
	w := newWorld(t)
	w.refusal = &protocol.Refusal{Code: "revoked", Text: "This host was revoked."}
	w.want(runs("rnt_a"))
	var refusal *protocol.Refusal
	if err := w.host.Tick(t.Context(), w.now); !errors.As(err, &refusal) {
		t.Fatalf("tick gave %v", err)
	}
	if err := w.host.Run(t.Context()); !errors.As(err, &refusal) || refusal.Text != "This host was revoked." {
		t.Fatalf("run gave %v", err)
	}
	if len(w.running()) > 0 || len(w.beats) > 0 {
		t.Error("a refused host acted")
	}
}

func TestBenchmark(t *testing.T) {
	w := newWorld(t)
	w.open = protocol.BenchOpen{Round: 1, Rows: []int{0, 5}}
	w.desired.Bench = &protocol.BenchOrder{Run: "run_1", Seed: 42, Size: 16, Rounds: 2}
	w.tick(0)
	w.tick(20 * time.Second)
	if len(w.commits) != 1 || len(w.commits[0].Proof) != 2 || len(w.commits[0].Proof[0].Roots) != 2 {
		t.Fatalf("commits %+v", w.commits)
	}
	if len(w.results) != 1 {
		t.Fatalf("results %+v", w.results)
	}
	r := w.results[0]
	if r.Interrupted != "" || len(r.GPUs) != 2 || len(r.GPUs[0].Opened) != 2 || len(r.GPUs[0].Figures) == 0 || !r.Host.Simulated {
		t.Errorf("result %+v", r)
	}
	// The next run meets a rental, and gives way.
	w.want(runs("rnt_a", w.gpus[0]))
	w.desired.Bench = &protocol.BenchOrder{Run: "run_2", Seed: 43, Size: 16, Rounds: 2}
	w.tick(30 * time.Second)
	if len(w.commits) != 1 || len(w.results) != 2 || w.results[1].Interrupted == "" {
		t.Errorf("beside a rental: %+v", w.results[1:])
	}
	w.phases(phases{"rnt_a": protocol.PhaseRunning})
}
