package benchmark

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/gpu"
	"github.com/gpunex/gpunex/internal/proof"
	"github.com/gpunex/gpunex/internal/protocol"
)

// judged is a GPU with what the run says of it.
type judged struct {
	fleet.GPU
	judgement
	forged bool // it opened rows and they didn't hold, so it isn't merely missing
}

// ending is how a run ends.
type ending struct {
	State     string
	Detail    string
	Host      *protocol.HostFigures
	Simulated bool
}

// Result verifies the proof, judges the figures, stores both, quarantines a GPU whose proof didn't hold, and mails the
// provider when a GPU leaves or re-enters the market. Sending a result again gives the same reply.
func (s *Service) Result(ctx context.Context, now time.Time, host string, r protocol.BenchResult) (protocol.BenchReply, error) {
	run, err := runByID(ctx, s.db, r.Run)
	if errors.Is(err, db.ErrNoRow) || err == nil && run.HostID != host {
		return protocol.BenchReply{Refusal: runUnknown()}, nil
	}
	if err != nil {
		return protocol.BenchReply{}, fmt.Errorf("benchmark: result: %w", err)
	}
	// The products are checked before the transaction: nobody waits for arithmetic.
	var verdicts []judged
	if run.State == Running && r.Interrupted == "" {
		gpus, err := s.fleet.GPUs(ctx, host)
		if err != nil {
			return protocol.BenchReply{}, fmt.Errorf("benchmark: result: %w", err)
		}
		verdicts = judgeAll(run, gpus, r.GPUs)
	}
	h, err := s.fleet.Host(ctx, host)
	if err != nil {
		return protocol.BenchReply{}, err
	}
	var reply protocol.BenchReply
	err = s.db.InTx(ctx, func(tx db.Tx) (err error) {
		reply, err = s.settle(ctx, tx, now, h, r, verdicts)
		return err
	})
	if err != nil {
		return protocol.BenchReply{}, fmt.Errorf("benchmark: result: %w", err)
	}
	return reply, nil
}

// settle writes a result, or replies to one that can't be written or was before.
func (s *Service) settle(ctx context.Context, tx db.Tx, now time.Time, h fleet.Host, r protocol.BenchResult, verdicts []judged) (protocol.BenchReply, error) {
	run, err := lockRun(ctx, tx, r.Run)
	if err != nil {
		return protocol.BenchReply{}, err
	}
	e := ending{Host: finite(r.Host), Simulated: h.Simulated || r.Host.Simulated}
	switch {
	case run.State == Inconclusive:
		return protocol.BenchReply{Refusal: runOver()}, nil
	case !run.Open():
		return protocol.BenchReply{Passed: run.State == Passed}, nil
	case r.Interrupted != "":
		e.State, e.Detail, e.Host = Interrupted, printable(r.Interrupted), nil
		return protocol.BenchReply{}, s.finish(ctx, tx, now, run, e)
	case run.State == Requested || verdicts == nil: // nil: it wasn't committed when the result was read
		return protocol.BenchReply{Refusal: notCommitted()}, nil
	case len(verdicts) == 0:
		e.State, e.Detail = Inconclusive, "the host has no GPU that answers"
		return protocol.BenchReply{Refusal: runOver()}, s.finish(ctx, tx, now, run, e)
	}
	e.State = Passed
	for _, v := range verdicts {
		if !v.Passed {
			e.State = Failed
		}
		before, err := lastPassed(ctx, tx, v.ID)
		if err != nil {
			return protocol.BenchReply{}, err
		}
		if err := insertResult(ctx, tx, now, run.ID, v); err != nil {
			return protocol.BenchReply{}, err
		}
		if v.forged && v.Quarantine == "" {
			if err := s.fleet.Quarantine(ctx, tx, v.ID, ProofFailed); err != nil {
				return protocol.BenchReply{}, err
			}
		}
		if err := s.tell(ctx, tx, now, run, h, v, before); err != nil {
			return protocol.BenchReply{}, err
		}
	}
	return protocol.BenchReply{Passed: e.State == Passed}, s.finish(ctx, tx, now, run, e)
}

// finish ends a run. The host's revision rises: its desired state no longer holds the order.
func (s *Service) finish(ctx context.Context, tx db.Tx, now time.Time, run runRow, e ending) error {
	if err := finishRun(ctx, tx, now, run.ID, e); err != nil {
		return fmt.Errorf("benchmark: finish: %w", err)
	}
	_, err := s.fleet.Bump(ctx, tx, run.HostID)
	return err
}

// judgeAll judges every GPU (never nil) that the host says it has. One that is broken and silent is left out: the fleet knows why.
func judgeAll(run runRow, gpus []fleet.GPU, results []protocol.GPUResult) []judged {
	roots, told := map[string][][]byte{}, map[string]protocol.GPUResult{}
	for _, c := range run.Commitment {
		roots[c.UUID] = c.Roots
	}
	for _, r := range results {
		if _, twice := told[r.UUID]; !twice {
			told[r.UUID] = r
		}
	}
	out := []judged{}
	for _, g := range gpus {
		uuid := g.Detail.UUID
		r, answered := told[uuid]
		if !g.Present || !answered && g.Fault != "" {
			continue
		}
		err := proof.Verify(proof.GPUSeed(uint64(run.Seed), uuid), run.Size, roots[uuid], *run.OpenRound, run.OpenRows, opened(r.Opened), chance.Uint64)
		out = append(out, judged{GPU: g, judgement: judge(g.Model, r.Figures, err == nil), forged: err != nil && len(r.Opened) > 0 && roots[uuid] != nil})
	}
	return out
}

func opened(rows []protocol.OpenedRow) []proof.Opened {
	out := make([]proof.Opened, len(rows))
	for i, r := range rows {
		out[i] = proof.Opened(r)
	}
	return out
}

// finite leaves the host's figures that are measurements.
func finite(h protocol.HostFigures) *protocol.HostFigures {
	for _, v := range []*float64{&h.SeqReadMBs, &h.SeqWriteMBs, &h.RandReadIOPS, &h.RandWriteIOPS, &h.LatencyMS, &h.ThroughputMbps} {
		if !gpu.Number(*v) || *v > math.MaxInt32 {
			*v = 0
		}
	}
	return &h
}

// printable keeps what can be stored and shown of the host's words.
func printable(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
	return strings.ToValidUTF8(s[:min(len(s), 200)], "")
}
