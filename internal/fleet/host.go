package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpunex/gpunex/internal/db"
)

// Host gives one host. Fault: host_not_found.
func (s *Service) Host(ctx context.Context, id string) (Host, error) {
	h, err := hostByID(ctx, s.db, id)
	if errors.Is(err, db.ErrNoRow) {
		return Host{}, hostNotFound()
	}
	if err != nil {
		return Host{}, fmt.Errorf("fleet: host: %w", err)
	}
	return h, nil
}

// Hosts lists a provider's hosts in the order of their enrolment; provider "" lists all, for operators.
func (s *Service) Hosts(ctx context.Context, provider string) ([]Host, error) {
	return hostsOf(ctx, s.db, provider)
}

// GPUs lists a host's GPUs in their order.
func (s *Service) GPUs(ctx context.Context, host string) ([]GPU, error) {
	return gpusOf(ctx, s.db, host)
}

// Bump raises a host's desired revision in the caller's transaction: something that it should do has changed.
// Fault: host_not_found.
func (s *Service) Bump(ctx context.Context, q db.Querier, host string) (revision int64, err error) {
	revision, err = bump(ctx, q, host)
	if errors.Is(err, db.ErrNoRow) {
		return 0, hostNotFound()
	}
	if err != nil {
		return 0, fmt.Errorf("fleet: bump: %w", err)
	}
	return revision, nil
}

// Snapshot calls f with the host's desired revision and a transaction that reads all of that same moment, so that a
// document is never newer or older than the revision that it says. Fault: host_not_found.
func (s *Service) Snapshot(ctx context.Context, host string, f func(q db.Querier, revision int64) error) error {
	return s.db.InTx(ctx, func(tx db.Tx) error {
		if err := snapshot(ctx, tx); err != nil {
			return fmt.Errorf("fleet: snapshot: %w", err)
		}
		h, err := hostByID(ctx, tx, host)
		if errors.Is(err, db.ErrNoRow) {
			return hostNotFound()
		}
		if err != nil {
			return fmt.Errorf("fleet: snapshot: %w", err)
		}
		return f(tx, h.DesiredRevision)
	})
}

// Quarantine keeps a GPU out of the market with a reason; an empty reason lifts it. Fault: gpu_not_found.
func (s *Service) Quarantine(ctx context.Context, q db.Querier, gpuID, why string) error {
	found, err := setQuarantine(ctx, q, gpuID, why)
	if err != nil {
		return fmt.Errorf("fleet: quarantine: %w", err)
	}
	if !found {
		return gpuNotFound()
	}
	return nil
}
