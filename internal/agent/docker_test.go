package agent_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/agent"
	"github.com/gpunex/gpunex/internal/agent/guard"
	"github.com/gpunex/gpunex/internal/agent/hardware"
	"github.com/gpunex/gpunex/internal/agent/workload/workloadtest"
	"github.com/gpunex/gpunex/internal/protocol"
)

// rig is a host on a real engine: guard, socket, loop.
type rig struct {
	*platform
	t         *testing.T
	instance  string
	dir       string
	socket    string
	gpus      []string
	stopGuard func()
	stopHost  func()
	host      func() // hints
}

func newRig(t *testing.T) *rig {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "docker", "info").CombinedOutput()
	if err == nil {
		out, err = exec.CommandContext(t.Context(), "sh", "../../scripts/build-image.sh").CombinedOutput()
	}
	if err != nil && os.Getenv("GPUNEX_REQUIRE_DOCKER") != "" {
		t.Fatalf("no usable Docker engine: %v\n%s", err, out)
	}
	if err != nil {
		t.Skipf("SKIPPED, not passed: no usable Docker engine: %v\n%s", err, out)
	}
	r := &rig{platform: newPlatform(), t: t, dir: t.TempDir(), instance: "t-" + strings.ToLower(strings.TrimPrefix(t.Name(), "TestDocker"))}
	r.socket = filepath.Join(t.TempDir(), "guard.sock")
	r.startGuard()
	r.startHost()
	t.Cleanup(func() {
		r.stopHost()
		r.stopGuard()
		left := strings.Fields(r.docker("ps", "-aq", "--filter", "label="+guard.LabelInstance+"="+r.instance))
		if len(left) > 0 {
			r.docker(append([]string{"rm", "-f"}, left...)...)
		}
		_ = exec.CommandContext(context.Background(), "docker", "network", "rm", "gpunex-"+r.instance).Run()
	})
	return r
}

func (r *rig) docker(args ...string) string {
	r.t.Helper()
	out, err := exec.CommandContext(context.Background(), "docker", args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *rig) startGuard() {
	r.t.Helper()
	profile, err := hardware.Load("h100-sxmx2", "test")
	if err != nil {
		r.t.Fatal(err)
	}
	r.gpus = hardware.NewSimulated(profile, time.Now).UUIDs()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- guard.Run(ctx, guard.Config{Socket: r.socket, UID: os.Getuid(), Instance: r.instance, Policy: guard.Policy{
			GPUs: r.gpus, MaxCPUs: 64, MaxRAMMiB: 4096, MaxDiskMiB: 10_000, Simulated: true,
		}}, slog.New(slog.DiscardHandler))
	}()
	r.stopGuard = func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("guard ended with %v", err)
		}
	}
}

// startHost makes a new agent over the same state directory; stopHost is its end, as far as the rentals see a crash.
func (r *rig) startHost() {
	r.t.Helper()
	cfg := config(r.t, r.dir, r.platform, time.Now)
	client := guard.NewClient(r.socket)
	cfg.Runtime, cfg.Info = client, client.Info
	host, err := agent.New(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- host.Run(ctx) }()
	r.stopHost = func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("host ended with %v", err)
		}
		host.Close()
	}
	r.host = host.Hint
}

func (r *rig) wants(ws ...protocol.Workload) {
	r.want(ws...)
	r.host()
}

func (r *rig) startedAt(rental string) string {
	return r.docker("inspect", "-f", "{{.State.StartedAt}} {{.Id}}", "gpunex-"+rental)
}

func (r *rig) said(rental string) []protocol.LogLine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]protocol.LogLine(nil), r.lines[rental]...)
}

func TestDockerRestartAdopts(t *testing.T) {
	r := newRig(t)
	w := runs("rnt_adopt", r.gpus[0])
	r.wants(w)
	r.awaitPhase(t, w.Rental, protocol.PhaseRunning)
	was := r.startedAt(w.Rental)
	r.await(t, "two lines of output", func() bool { return len(r.said(w.Rental)) >= 2 })

	r.stopHost()
	r.stopGuard()
	workloadtest.Eventually(t, "output while nobody looks", 10*time.Second, func() bool {
		return strings.Count(r.docker("logs", "gpunex-"+w.Rental), "\n") >= len(r.said(w.Rental))+2
	})
	before := len(r.said(w.Rental))
	r.startGuard()
	r.startHost()
	r.await(t, "the output goes on", func() bool { return len(r.said(w.Rental)) >= before+3 })
	r.awaitPhase(t, w.Rental, protocol.PhaseRunning)
	if now := r.startedAt(w.Rental); now != was {
		t.Errorf("the workload was started again: %s, then %s", was, now)
	}

	r.wants(stopped(w))
	r.awaitPhase(t, w.Rental, protocol.PhaseStopped)
	workloadtest.Eventually(t, "container removed", 20*time.Second, func() bool {
		return r.docker("ps", "-aq", "--filter", "name=gpunex-"+w.Rental) == ""
	})
	lines := r.said(w.Rental)
	for i, l := range lines {
		if l.Seq != int64(i) {
			t.Fatalf("line %d has number %d", i, l.Seq)
		}
	}
	if last := lines[len(lines)-1].Text; last != "stopped by terminated" {
		t.Errorf("the last line is %q; the workload's farewell is lost", last)
	}
}

func TestDockerRemovedBehindTheBackIsLost(t *testing.T) {
	r := newRig(t)
	w := runs("rnt_lost", r.gpus[0])
	r.wants(w)
	r.awaitPhase(t, w.Rental, protocol.PhaseRunning)
	r.docker("rm", "-f", "gpunex-"+w.Rental)
	r.awaitPhase(t, w.Rental, protocol.PhaseLost)
	if left := r.docker("ps", "-aq", "--filter", "name=gpunex-"+w.Rental); left != "" {
		t.Error("it was started again")
	}
}

func TestDockerGuardAwayEndsNothing(t *testing.T) {
	r := newRig(t)
	w := runs("rnt_guard", r.gpus[0])
	r.wants(w)
	r.awaitPhase(t, w.Rental, protocol.PhaseRunning)
	was := r.startedAt(w.Rental)
	r.stopGuard()
	r.await(t, "an incomplete heartbeat", func() bool { b, _ := r.last(); return !b.Complete })
	if _, s := r.last(); len(s) > 0 {
		t.Errorf("told of workloads that nobody can see: %+v", s)
	}
	r.startGuard()
	r.awaitPhase(t, w.Rental, protocol.PhaseRunning)
	if now := r.startedAt(w.Rental); now != was {
		t.Errorf("started again: %s, then %s", was, now)
	}
}

func TestDockerFailures(t *testing.T) {
	r := newRig(t)
	missing, command, greedy, ends := runs("rnt_missing"), runs("rnt_command"), runs("rnt_greedy"), runs("rnt_ends")
	missing.Image = "127.0.0.1:1/gpunex/missing:1"
	greedy.CPUs = 1000
	ends.Command = []string{"exit", "9"}
	command.Image = "gpunex/empty:1"
	if exec.CommandContext(t.Context(), "docker", "image", "inspect", command.Image).Run() != nil {
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", "tar -cf - -T /dev/null | docker import - "+command.Image).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	r.wants(missing, command, greedy, ends)
	for rental, code := range map[string]string{
		"rnt_missing": protocol.FailImage, "rnt_command": protocol.FailCommand, "rnt_greedy": protocol.FailRefused,
	} {
		if s := r.awaitPhase(t, rental, protocol.PhaseFailed); s.Code != code || s.Message == "" {
			t.Errorf("%s failed as %+v, want %s", rental, s, code)
		}
	}
	if s := r.awaitPhase(t, "rnt_ends", protocol.PhaseExited); s.ExitCode == nil || *s.ExitCode != 9 || s.StartedAt == nil {
		t.Errorf("ended as %+v", s)
	}
}
