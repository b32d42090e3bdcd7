package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/proof"
	"github.com/gpunex/gpunex/internal/protocol"
)

// The largest order that is obeyed: a platform must not be able to occupy a host for hours.
const (
	maxSize   = 2048
	maxRounds = 64
)

// Link is how a run speaks with the platform.
type Link interface {
	Commit(ctx context.Context, m protocol.BenchCommit) (protocol.BenchOpen, error)
	Result(ctx context.Context, m protocol.BenchResult) (protocol.BenchReply, error)
}

// Meter measures. hardware.Simulated tells a profile's figures.
type Meter interface {
	Measure(ctx context.Context, uuid string) (map[string]float64, error)
	MeasureHost(ctx context.Context) (protocol.HostFigures, error)
	// Forges says whether a simulated GPU computes wrongly.
	Forges(uuid string) bool
}

// ErrInterrupted is the cause to cancel a run's context with when a rental needs the GPUs.
var ErrInterrupted = errors.New("a rental needs the GPUs")

// Run answers one order over all GPUs. A run that is cut short by its context says so to the platform.
func Run(ctx context.Context, order protocol.BenchOrder, gpus []protocol.GPU, m Meter, link Link) error {
	result, err := answer(ctx, order, gpus, m, link)
	if cause := context.Cause(ctx); errors.Is(cause, ErrInterrupted) {
		return Interrupt(context.WithoutCancel(ctx), order, cause.Error(), link)
	}
	var fault *gpuError
	if errors.As(err, &fault) {
		return Interrupt(ctx, order, fault.Error(), link)
	}
	if err != nil {
		return fmt.Errorf("benchmark %s: %w", order.Run, err)
	}
	return send(ctx, result, link)
}

// Interrupt tells the platform that a run has no result, and why.
func Interrupt(ctx context.Context, order protocol.BenchOrder, why string, link Link) error {
	return send(ctx, protocol.BenchResult{Run: order.Run, Interrupted: why}, link)
}

func send(ctx context.Context, r protocol.BenchResult, link Link) error {
	ctx, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	reply, err := link.Result(ctx, r)
	if err != nil {
		return fmt.Errorf("benchmark %s: send result: %w", r.Run, err)
	}
	if reply.Refusal != nil {
		return fmt.Errorf("benchmark %s: %w", r.Run, reply.Refusal)
	}
	return nil
}

// gpuError is a fault of the host that ends a run.
type gpuError struct{ err error }

func (e *gpuError) Error() string { return e.err.Error() }
func (e *gpuError) Unwrap() error { return e.err }

func answer(ctx context.Context, order protocol.BenchOrder, gpus []protocol.GPU, m Meter, link Link) (protocol.BenchResult, error) {
	result := protocol.BenchResult{Run: order.Run}
	if order.Size < 1 || order.Size > maxSize || order.Rounds < 1 || order.Rounds > maxRounds {
		return result, &gpuError{fmt.Errorf("this agent computes up to %d rounds of size %d, not %d of %d", maxRounds, maxSize, order.Rounds, order.Size)}
	}
	proofs := map[string]*proof.Proof{}
	commit := protocol.BenchCommit{Run: order.Run}
	for _, g := range gpus {
		if ctx.Err() != nil {
			return result, context.Cause(ctx)
		}
		if g.Fault != "" {
			continue // the platform knows of the fault, and misses this GPU's proof
		}
		p, err := proof.Prove(proof.GPUSeed(order.Seed, g.UUID), order.Size, order.Rounds)
		if err != nil {
			return result, &gpuError{fmt.Errorf("GPU %s: %w", g.UUID, err)}
		}
		proofs[g.UUID] = p
		commit.Proof = append(commit.Proof, protocol.GPUCommit{UUID: g.UUID, Roots: p.Roots()})
	}
	open, err := link.Commit(ctx, commit)
	if err != nil {
		return result, fmt.Errorf("commit: %w", err)
	}
	if open.Refusal != nil {
		return result, open.Refusal
	}
	for _, c := range commit.Proof {
		if ctx.Err() != nil {
			return result, context.Cause(ctx)
		}
		rows, err := opened(proofs[c.UUID], open, m.Forges(c.UUID))
		if err != nil {
			return result, &gpuError{fmt.Errorf("GPU %s: %w", c.UUID, err)}
		}
		figures, err := m.Measure(ctx, c.UUID)
		if err != nil {
			return result, &gpuError{fmt.Errorf("GPU %s: %w", c.UUID, err)}
		}
		result.GPUs = append(result.GPUs, protocol.GPUResult{UUID: c.UUID, Opened: rows, Figures: figures})
	}
	result.Host, err = m.MeasureHost(ctx)
	if err != nil {
		return result, &gpuError{err}
	}
	return result, nil
}

func opened(p *proof.Proof, open protocol.BenchOpen, forge bool) ([]protocol.OpenedRow, error) {
	rows, err := p.Open(open.Round, open.Rows)
	if err != nil {
		return nil, err
	}
	var out []protocol.OpenedRow
	for _, r := range rows {
		row := protocol.OpenedRow{Row: r.Row, C: append([]int32(nil), r.C...), Path: r.Path}
		if forge && len(row.C) > 0 {
			row.C[0]++
		}
		out = append(out, row)
	}
	return out, nil
}
