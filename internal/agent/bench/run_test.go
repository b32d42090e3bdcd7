package bench_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpunex/gpunex/internal/agent/bench"
	"github.com/gpunex/gpunex/internal/agent/hardware"
	"github.com/gpunex/gpunex/internal/proof"
	"github.com/gpunex/gpunex/internal/protocol"
)

// link is a platform that opens fixed rows.
type link struct {
	commit   protocol.BenchCommit
	result   protocol.BenchResult
	open     protocol.BenchOpen
	onCommit func()
	err      error
}

func (l *link) Commit(_ context.Context, m protocol.BenchCommit) (protocol.BenchOpen, error) {
	l.commit = m
	if l.onCommit != nil {
		l.onCommit()
	}
	return l.open, l.err
}

func (l *link) Result(_ context.Context, m protocol.BenchResult) (protocol.BenchReply, error) {
	l.result = m
	return protocol.BenchReply{}, nil
}

func driver(t *testing.T, faults hardware.Faults) (*hardware.Simulated, []protocol.GPU) {
	t.Helper()
	profile, err := hardware.Load("l4x3", "bench")
	if err != nil {
		t.Fatal(err)
	}
	profile.Faults = faults
	d := hardware.NewSimulated(profile, nil)
	gpus, _, _, err := d.Detect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d, gpus
}

var order = protocol.BenchOrder{Run: "run_1", Seed: 99, Size: 32, Rounds: 3}

// verify checks one GPU's answer as the platform does.
func verify(l *link, i int) error {
	var opened []proof.Opened
	for _, r := range l.result.GPUs[i].Opened {
		opened = append(opened, proof.Opened{Row: r.Row, C: r.C, Path: r.Path})
	}
	uuid := l.result.GPUs[i].UUID
	return proof.Verify(proof.GPUSeed(order.Seed, uuid), order.Size, l.commit.Proof[i].Roots, l.open.Round, l.open.Rows, opened, rand.Uint64)
}

func TestProofHolds(t *testing.T) {
	d, gpus := driver(t, hardware.Faults{})
	l := &link{open: protocol.BenchOpen{Round: 2, Rows: []int{1, 31, 7}}}
	if err := bench.Run(t.Context(), order, gpus, d, l); err != nil {
		t.Fatal(err)
	}
	if len(l.result.GPUs) != 3 || l.result.Interrupted != "" || !l.result.Host.Simulated {
		t.Fatalf("result %+v", l.result)
	}
	for i, g := range l.result.GPUs {
		if err := verify(l, i); err != nil {
			t.Errorf("GPU %d: %v", i, err)
		}
		if f := g.Figures["tensor"]; f < 121*0.96 || f > 121 {
			t.Errorf("figures %v", g.Figures)
		}
	}
}

func TestFaultyGPUs(t *testing.T) {
	d, gpus := driver(t, hardware.Faults{Lost: []int{0}, Forge: []int{2}})
	l := &link{open: protocol.BenchOpen{Round: 0, Rows: []int{0}}}
	if err := bench.Run(t.Context(), order, gpus, d, l); err != nil {
		t.Fatal(err)
	}
	if len(l.result.GPUs) != 2 {
		t.Fatalf("a lost GPU answered: %+v", l.result)
	}
	if err := verify(l, 0); err != nil {
		t.Errorf("honest GPU: %v", err)
	}
	if err := verify(l, 1); err == nil {
		t.Error("a forged product passed")
	}
}

func TestInterruptions(t *testing.T) {
	d, gpus := driver(t, hardware.Faults{})
	ctx, cancel := context.WithCancelCause(t.Context())
	l := &link{open: protocol.BenchOpen{Rows: []int{0}}, onCommit: func() { cancel(bench.ErrInterrupted) }}
	if err := bench.Run(ctx, order, gpus, d, l); err != nil {
		t.Fatal(err)
	}
	if l.result.Run != order.Run || l.result.Interrupted == "" || len(l.result.GPUs) > 0 {
		t.Errorf("cut by a rental: %+v", l.result)
	}

	huge := order
	huge.Size = 1 << 20
	l = &link{}
	if err := bench.Run(t.Context(), huge, gpus, d, l); err != nil || !strings.Contains(l.result.Interrupted, "1048576") {
		t.Errorf("huge order: %+v, %v", l.result, err)
	}

	l = &link{err: errors.New("platform away")}
	if err := bench.Run(t.Context(), order, gpus, d, l); err == nil || l.result.Run != "" {
		t.Errorf("platform away: %+v, %v", l.result, err)
	}
}
