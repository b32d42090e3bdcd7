// Package workloadtest says what every runtime must do: one suite that the guard on a real engine and the simulated
// runtime both pass.
package workloadtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/agent"
	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

// Kit is a runtime under test and what it can run.
type Kit struct {
	Runtime agent.Runtime
	// Image runs until it is stopped; with the command "sleep N" or "exit N" it ends by itself.
	Image string
	// Missing doesn't exist; Empty exists and has nothing to run.
	Missing, Empty string
	GPUs           []string // two that may be used
}

// Run runs the suite.
func Run(t *testing.T, k Kit) {
	for name, test := range map[string]func(*testing.T, Kit){
		"starts once":          startsOnce,
		"ends by itself":       endsByItself,
		"tells the exit code":  tellsExitCode,
		"stops and keeps":      stopsAndKeeps,
		"removes what runs":    removes,
		"missing image":        missingImage,
		"nothing to run":       nothingToRun,
		"GPU in use":           gpuInUse,
		"output from anywhere": output,
		"unknown workloads":    unknown,
	} {
		t.Run(name, func(t *testing.T) { test(t, k) })
	}
}

// Spec is a small workload.
func (k Kit) Spec(rental string, command ...string) workload.Spec {
	return workload.Spec{Rental: rental, Image: k.Image, Command: command, CPUs: 0.5, RAMMiB: 64, DiskMiB: 100}
}

func (k Kit) start(t *testing.T, s workload.Spec) []protocol.Phase {
	t.Helper()
	var phases []protocol.Phase
	t.Cleanup(func() { _ = k.Runtime.Remove(context.Background(), s.Rental) })
	if err := k.Runtime.Start(t.Context(), s, func(p protocol.Phase) { phases = append(phases, p) }); err != nil {
		t.Fatalf("start %s: %v", s.Rental, err)
	}
	return phases
}

// Find gives a workload's state, if it is listed.
func (k Kit) Find(t *testing.T, rental string) (workload.State, bool) {
	t.Helper()
	states, err := k.Runtime.List(t.Context())
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	for _, s := range states {
		if s.Rental == rental {
			return s, true
		}
	}
	return workload.State{}, false
}

// Eventually polls until a condition about another process holds.
func Eventually(t *testing.T, what string, within time.Duration, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

func startsOnce(t *testing.T, k Kit) {
	s := k.Spec("conf-once")
	s.GPUs = k.GPUs[:1]
	phases := k.start(t, s)
	if len(phases) == 0 || phases[len(phases)-1] != protocol.PhaseCreating {
		t.Errorf("phases %v, want creating as the last before running", phases)
	}
	first, ok := k.Find(t, s.Rental)
	if !ok || first.Phase != workload.Running || first.StartedAt.IsZero() || first.Image != k.Image || len(first.GPUs) != 1 || first.GPUs[0] != k.GPUs[0] {
		t.Fatalf("after start: %+v, listed %v", first, ok)
	}
	k.start(t, s)
	if again, _ := k.Find(t, s.Rental); !again.StartedAt.Equal(first.StartedAt) {
		t.Errorf("a second start moved started_at from %s to %s", first.StartedAt, again.StartedAt)
	}
}

func endsByItself(t *testing.T, k Kit) {
	k.start(t, k.Spec("conf-sleep", "sleep", "1"))
	Eventually(t, "exit", 10*time.Second, func() bool {
		s, _ := k.Find(t, "conf-sleep")
		return s.Phase == workload.Exited
	})
	s, _ := k.Find(t, "conf-sleep")
	if s.ExitCode != 0 || s.FinishedAt.Before(s.StartedAt) {
		t.Errorf("ended as %+v", s)
	}
	k.start(t, k.Spec("conf-sleep", "sleep", "1"))
	if again, _ := k.Find(t, "conf-sleep"); again.Phase != workload.Exited || !again.StartedAt.Equal(s.StartedAt) {
		t.Errorf("an ended workload ran again: %+v", again)
	}
}

func tellsExitCode(t *testing.T, k Kit) {
	k.start(t, k.Spec("conf-exit", "exit", "7"))
	Eventually(t, "exit 7", 10*time.Second, func() bool {
		s, _ := k.Find(t, "conf-exit")
		return s.Phase == workload.Exited && s.ExitCode == 7
	})
}

func stopsAndKeeps(t *testing.T, k Kit) {
	k.start(t, k.Spec("conf-stop"))
	for range 2 { // stopping twice is stopping
		if err := k.Runtime.Stop(t.Context(), "conf-stop"); err != nil {
			t.Fatal(err)
		}
	}
	if s, ok := k.Find(t, "conf-stop"); !ok || s.Phase != workload.Exited {
		t.Errorf("after stop: %+v, listed %v", s, ok)
	}
}

func removes(t *testing.T, k Kit) {
	k.start(t, k.Spec("conf-remove"))
	for range 2 {
		if err := k.Runtime.Remove(t.Context(), "conf-remove"); err != nil {
			t.Fatal(err)
		}
	}
	if s, ok := k.Find(t, "conf-remove"); ok {
		t.Errorf("still listed: %+v", s)
	}
}

// fails starts what can't run and wants its code, and nothing left behind.
func (k Kit) fails(t *testing.T, s workload.Spec, code string) {
	t.Helper()
	t.Cleanup(func() { _ = k.Runtime.Remove(context.Background(), s.Rental) })
	err := k.Runtime.Start(t.Context(), s, func(protocol.Phase) {})
	var failure *workload.Error
	if !errors.As(err, &failure) || failure.Code != code || failure.Message == "" {
		t.Errorf("start gave %v, want code %s", err, code)
	}
	if left, ok := k.Find(t, s.Rental); ok {
		t.Errorf("left behind: %+v", left)
	}
}

func missingImage(t *testing.T, k Kit) {
	s := k.Spec("conf-missing")
	s.Image = k.Missing
	k.fails(t, s, protocol.FailImage)
}

func nothingToRun(t *testing.T, k Kit) {
	s := k.Spec("conf-empty")
	s.Image = k.Empty
	k.fails(t, s, protocol.FailCommand)
	s.Command = []string{"sh", "-c", "true"}
	k.fails(t, s, protocol.FailCommand)
}

func gpuInUse(t *testing.T, k Kit) {
	one := k.Spec("conf-gpu-1")
	one.GPUs = k.GPUs[:1]
	k.start(t, one)
	two := k.Spec("conf-gpu-2")
	two.GPUs = k.GPUs
	k.fails(t, two, protocol.FailRefused)
	if err := k.Runtime.Stop(t.Context(), one.Rental); err != nil {
		t.Fatal(err)
	}
	k.start(t, two)
}

func output(t *testing.T, k Kit) {
	k.start(t, k.Spec("conf-output", "sleep", "2"))
	read := func(from workload.Mark) (lines []protocol.LogLine) {
		if err := k.Runtime.Logs(t.Context(), "conf-output", from, func(l protocol.LogLine) error {
			lines = append(lines, l)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return lines
	}
	all := read(workload.Mark{}) // follows until the end
	if s, _ := k.Find(t, "conf-output"); s.Phase != workload.Exited && !soon(t, k, "conf-output") {
		t.Errorf("the output ended before the workload: %+v", s)
	}
	if len(all) < 2 {
		t.Fatalf("%d lines", len(all))
	}
	for i, l := range all {
		if l.Seq != int64(i) || l.At.IsZero() || l.Text == "" || l.Stream != "stdout" {
			t.Errorf("line %d is %+v", i, l)
		}
	}
	for _, from := range []workload.Mark{{Next: 1}, {Next: 1, After: all[0].At}} {
		rest := read(from)
		if len(rest) != len(all)-1 || rest[0] != all[1] {
			t.Errorf("from %+v: %d lines, want %d, the first %+v", from, len(rest), len(all)-1, rest)
		}
	}
}

func soon(t *testing.T, k Kit, rental string) bool {
	Eventually(t, "exit after the output's end", 5*time.Second, func() bool {
		s, _ := k.Find(t, rental)
		return s.Phase == workload.Exited
	})
	return true
}

func unknown(t *testing.T, k Kit) {
	if err := k.Runtime.Stop(t.Context(), "conf-nobody"); !errors.Is(err, workload.ErrUnknown) {
		t.Errorf("stop gave %v", err)
	}
	if err := k.Runtime.Remove(t.Context(), "conf-nobody"); err != nil {
		t.Errorf("remove gave %v", err)
	}
	err := k.Runtime.Logs(t.Context(), "conf-nobody", workload.Mark{}, func(protocol.LogLine) error { return nil })
	if !errors.Is(err, workload.ErrUnknown) {
		t.Errorf("logs gave %v", err)
	}
}
