package simruntime_test

import (
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/agent/simruntime"
	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/agent/workload/workloadtest"
	"github.com/gpunex/gpunex/internal/protocol"
)

func TestConformance(t *testing.T) {
	r, err := simruntime.Open(t.TempDir(), workload.Info{Runtime: "simulated"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	workloadtest.Run(t, workloadtest.Kit{
		Runtime: r, Image: "gpunex/hello:1", Missing: "gpunex/missing:1", Empty: "gpunex/noshell:1",
		GPUs: []string{"GPU-sim-0001", "GPU-sim-0002"},
	})
}

func TestRunsOverRestart(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	open := func() *simruntime.Runtime {
		r, err := simruntime.Open(dir, workload.Info{}, clock)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	spec := workload.Spec{Rental: "rnt_1", Image: "a", Command: []string{"sleep", "60"}}
	if err := open().Start(t.Context(), spec, func(protocol.Phase) {}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(59 * time.Second)
	states, err := open().List(t.Context())
	if err != nil || len(states) != 1 || states[0].Phase != workload.Running {
		t.Fatalf("after restart: %+v, %v", states, err)
	}
	now = now.Add(time.Second)
	states, err = open().List(t.Context())
	if err != nil || len(states) != 1 || states[0].Phase != workload.Exited || !states[0].FinishedAt.Equal(now) {
		t.Fatalf("after its time: %+v, %v", states, err)
	}
}
