package benchmark

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/id"
	"github.com/gpunex/gpunex/internal/protocol"
)

const (
	openLimit  = 30 * time.Minute // a run open for longer is inconclusive
	retryPause = 10 * time.Minute // between periodic runs, whatever became of the last
)

// Request asks for a run, unless one is open: then it gives that one. It bumps the host's revision. A run under way is
// interrupted when the hardware changed.
// Faults: host_not_found, benchmark_reason.
func (s *Service) Request(ctx context.Context, now time.Time, host, reason string) (Run, error) {
	switch reason {
	case Connected, Scheduled, HardwareChanged, Wanted:
	default:
		return Run{}, reasonUnknown(reason)
	}
	if _, err := s.fleet.Host(ctx, host); err != nil {
		return Run{}, err
	}
	var run Run
	err := s.db.InTx(ctx, func(tx db.Tx) (err error) {
		run, _, err = s.request(ctx, tx, now, host, reason)
		return err
	})
	return run, err
}

func (s *Service) request(ctx context.Context, tx db.Tx, now time.Time, host, reason string) (run Run, made bool, err error) {
	row := runRow{Run: Run{ID: id.New(id.Run), HostID: host, Reason: reason, State: Requested, RequestedAt: now},
		Seed: int64(chance.Uint64()), Size: s.cfg.Size, Rounds: s.cfg.Rounds}
	made, err = insertRun(ctx, tx, row)
	if err != nil {
		return Run{}, false, fmt.Errorf("benchmark: request: %w", err)
	}
	if !made {
		open, err := lockOpenRun(ctx, tx, host)
		if errors.Is(err, db.ErrNoRow) { // it ended just now
			return s.request(ctx, tx, now, host, reason)
		}
		if err != nil {
			return Run{}, false, fmt.Errorf("benchmark: request: %w", err)
		}
		if open.State != Running || reason != HardwareChanged {
			return open.Run, false, nil
		}
		// It commits to other GPUs than the host has now.
		if err := s.finish(ctx, tx, now, open, ending{State: Interrupted, Detail: "the host's hardware changed"}); err != nil {
			return Run{}, false, err
		}
		return s.request(ctx, tx, now, host, reason)
	}
	_, err = s.fleet.Bump(ctx, tx, host)
	return row.Run, true, err
}

// Due ends runs that were open for too long and requests the periodic runs of idle hosts: one pass.
func (s *Service) Due(ctx context.Context, now time.Time) (requested int, err error) {
	late, err := lateRuns(ctx, s.db, now.Add(-openLimit))
	if err != nil {
		return 0, fmt.Errorf("benchmark: due: %w", err)
	}
	for _, l := range late {
		if err := s.expire(ctx, now, l); err != nil {
			return 0, err
		}
	}
	hosts, err := dueHosts(ctx, s.db, now.Add(-s.cfg.Every), now.Add(-min(retryPause, s.cfg.Every)))
	if err != nil {
		return 0, fmt.Errorf("benchmark: due: %w", err)
	}
	for _, host := range hosts {
		err := s.db.InTx(ctx, func(tx db.Tx) error {
			_, made, err := s.request(ctx, tx, now, host, Scheduled)
			if made {
				requested++
			}
			return err
		})
		if err != nil {
			return requested, err
		}
	}
	return requested, nil
}

// expire ends a run as inconclusive unless it has ended meanwhile.
func (s *Service) expire(ctx context.Context, now time.Time, id string) error {
	return s.db.InTx(ctx, func(tx db.Tx) error {
		run, err := lockRun(ctx, tx, id)
		if err != nil {
			return fmt.Errorf("benchmark: due: %w", err)
		}
		if !run.Open() {
			return nil
		}
		return s.finish(ctx, tx, now, run, ending{State: Inconclusive, Detail: "the host didn't answer in time"})
	})
}

// Order gives the open run of a host for its desired state; nil when there is none or a rental uses a GPU.
func (s *Service) Order(ctx context.Context, q db.Querier, host string) (*protocol.BenchOrder, error) {
	run, err := orderedRun(ctx, q, host)
	if errors.Is(err, db.ErrNoRow) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("benchmark: order: %w", err)
	}
	return &protocol.BenchOrder{Run: run.ID, Seed: uint64(run.Seed), Size: run.Size, Rounds: run.Rounds}, nil
}

// Runs lists a host's runs, newest first.
func (s *Service) Runs(ctx context.Context, host string, limit int) ([]Run, error) {
	return runsOf(ctx, s.db, host, limit)
}

// Verdicts gives the newest verdict of each GPU, by GPU identifier. A GPU that was never judged has none.
func (s *Service) Verdicts(ctx context.Context, gpuIDs []string) (map[string]Verdict, error) {
	return verdictsOf(ctx, s.db, gpuIDs)
}
