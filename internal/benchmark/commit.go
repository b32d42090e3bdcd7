package benchmark

import (
	"bytes"
	"cmp"
	"context"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/protocol"
)

// source is the operating system's randomness: a host that could foresee it could forge its proofs.
type source struct{}

func (source) Uint64() uint64 {
	var b [8]byte
	_, _ = crand.Read(b[:]) // never fails
	return binary.NativeEndian.Uint64(b[:])
}

var chance = rand.New(source{})

// Commit stores the host's roots, then chooses round and rows at random. Committing to the same again gives the same
// answer; committing to anything else is refused.
func (s *Service) Commit(ctx context.Context, now time.Time, host string, c protocol.BenchCommit) (protocol.BenchOpen, error) {
	gpus, err := s.fleet.GPUs(ctx, host)
	if err != nil {
		return protocol.BenchOpen{}, fmt.Errorf("benchmark: commit: %w", err)
	}
	known := map[string]bool{}
	for _, g := range gpus {
		known[g.Detail.UUID] = true
	}
	proof := slices.SortedFunc(slices.Values(c.Proof), func(a, b protocol.GPUCommit) int { return cmp.Compare(a.UUID, b.UUID) })
	var open protocol.BenchOpen
	err = s.db.InTx(ctx, func(tx db.Tx) error {
		open = protocol.BenchOpen{}
		run, err := lockRun(ctx, tx, c.Run)
		switch {
		case errors.Is(err, db.ErrNoRow) || err == nil && run.HostID != host:
			open.Refusal = runUnknown()
		case err != nil:
			return fmt.Errorf("benchmark: commit: %w", err)
		case !run.Open():
			open.Refusal = runOver()
		case run.State == Running:
			if !sameCommit(run.Commitment, proof) {
				open.Refusal = commitChanged()
				return nil
			}
			open.Round, open.Rows = *run.OpenRound, run.OpenRows
		case !validCommit(proof, known, run.Rounds):
			open.Refusal = commitWrong()
		default:
			if err := saveCommit(ctx, tx, now, run.ID, proof); err != nil {
				return fmt.Errorf("benchmark: commit: %w", err)
			}
			open.Round = chance.IntN(run.Rounds)
			open.Rows = chance.Perm(run.Size)[:min(max(s.cfg.Rows, 1), run.Size)]
			if err := saveOpening(ctx, tx, run.ID, open.Round, open.Rows); err != nil {
				return fmt.Errorf("benchmark: commit: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return protocol.BenchOpen{}, err
	}
	return open, nil
}

// validCommit wants each GPU at most once, only GPUs of the host, and one root per round. The commitment is sorted.
func validCommit(proof []protocol.GPUCommit, known map[string]bool, rounds int) bool {
	for i, g := range proof {
		if !known[g.UUID] || i > 0 && proof[i-1].UUID == g.UUID || len(g.Roots) != rounds {
			return false
		}
		for _, r := range g.Roots {
			if len(r) != sha256.Size {
				return false
			}
		}
	}
	return len(proof) > 0
}

func sameCommit(a, b []protocol.GPUCommit) bool {
	return slices.EqualFunc(a, b, func(a, b protocol.GPUCommit) bool {
		return a.UUID == b.UUID && slices.EqualFunc(a.Roots, b.Roots, bytes.Equal)
	})
}
