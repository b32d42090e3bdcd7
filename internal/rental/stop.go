package rental

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
)

// Stop ends a rental at the customer's wish, or at the wish of the provider whose host it is on; stopping twice is
// harmless, and the first reason stays. Faults: rental_not_found, viewers_only_look.
func (s *Service) Stop(ctx context.Context, now time.Time, who account.Identity, id string) (Rental, error) {
	now = s.tick(now)
	if err := who.MayAct(); err != nil {
		return Rental{}, err
	}
	var r record
	begun := false
	err := s.db.InTx(ctx, func(tx db.Tx) (err error) {
		begun = false
		r, err = lockRental(ctx, tx, id)
		if errors.Is(err, db.ErrNoRow) {
			return rentalNotFound()
		}
		if err != nil {
			return err
		}
		var why Reason
		switch who.Account.ID {
		case r.CustomerID:
			why = StoppedByCustomer
		case r.ProviderID:
			why = ProviderStopped
		default:
			return rentalNotFound()
		}
		if r.State == Stopping || r.State == Ended {
			return nil
		}
		begun = true
		return s.beginStop(ctx, tx, now, &r, why)
	})
	if err != nil {
		return Rental{}, fmt.Errorf("rental: stop: %w", err)
	}
	if begun {
		s.tell(r.HostID)
	}
	return r.Rental, nil
}

// beginStop asks the host to stop a workload: nothing after now is billed. The host's next report ends the rental.
func (s *Service) beginStop(ctx context.Context, tx db.Tx, now time.Time, r *record, why Reason) error {
	revision, err := s.fleet.Bump(ctx, tx, r.HostID)
	if err != nil {
		return err
	}
	r.State, r.StopReason, r.StopAt = Stopping, why, &now
	r.WantedRevision, r.MissingSince = revision, nil
	if err := insertEvent(ctx, tx, now, r.ID, Stopping, string(why)); err != nil {
		return err
	}
	return saveRental(ctx, tx, *r)
}

// end ends a rental in the caller's transaction: what was metered is settled, the rest of the hold comes back, and the
// GPUs are free. The caller has metered it and tells the host afterwards.
func (s *Service) end(ctx context.Context, tx db.Tx, now time.Time, r *record, why Reason) error {
	if _, err := s.fleet.Bump(ctx, tx, r.HostID); err != nil {
		return err
	}
	if err := closeClaims(ctx, tx, now, r.ID); err != nil {
		return err
	}
	if err := s.crash("claims closed"); err != nil {
		return err
	}
	if err := s.settle(ctx, tx, now, r, true); err != nil {
		return err
	}
	if err := s.release(ctx, tx, now, *r); err != nil {
		return err
	}
	if err := s.crash("released"); err != nil {
		return err
	}
	r.State, r.EndReason, r.Attributed, r.EndedAt, r.MissingSince = Ended, why, why.Attribution(), &now, nil
	if err := insertEvent(ctx, tx, now, r.ID, Ended, string(why)); err != nil {
		return err
	}
	if err := saveRental(ctx, tx, *r); err != nil {
		return err
	}
	return s.crash("ended")
}
