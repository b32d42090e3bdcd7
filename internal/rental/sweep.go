package rental

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/money"
)

// lowFunds is how long before money ends the customer is warned.
const lowFunds = 10 * time.Minute

// stopLimit is how long a stopping rental waits for its host's word. Nothing is billed meanwhile, but the customer's
// money and the GPUs must not wait for a host that never gives it.
const stopLimit = 30 * time.Minute

// Sweep does what time does to rentals: settle every five minutes, extend holds, warn and stop before money ends, stop
// at maxima, end what is lost. One pass; each rental is a transaction of its own, and one that fails keeps no other
// from its turn.
func (s *Service) Sweep(ctx context.Context, now time.Time) error {
	now = s.tick(now)
	open, err := openRentals(ctx, s.db)
	if err != nil {
		return fmt.Errorf("rental: sweep: %w", err)
	}
	var all []error
	for _, r := range open {
		free, err := s.moneyOf(ctx, s.db, r)
		if err == nil {
			var w work
			if w, err = s.workOf(now, r, free); err == nil && w == (work{}) {
				continue // most of them, most of the time
			}
		}
		if err == nil {
			err = s.change(ctx, r.ID, func(tx db.Tx, r *record) error { return s.sweep(ctx, tx, now, r) })
		}
		if err != nil {
			all = append(all, fmt.Errorf("rental: sweep %s: %w", r.ID, err))
		}
	}
	return errors.Join(all...)
}

// work is what time wants of a rental.
type work struct {
	End    Reason
	Stop   Reason
	Settle bool
	Warn   bool
}

// workOf says what is due at now. More is the money that the rental can still use.
func (s *Service) workOf(now time.Time, r record, more money.Micro) (work, error) {
	silent := s.silence(now, r.LastSeen)
	lost := silent > s.cfg.Lost
	switch {
	case r.State == Stopping && (lost || r.StopAt != nil && now.Sub(*r.StopAt) > stopLimit):
		return work{End: r.StopReason}, nil
	case lost && r.State != Ended:
		return work{End: HostOffline}, nil
	case r.State == Starting && now.Sub(r.RequestedAt) > s.cfg.StartLimit && silent <= s.cfg.Unreachable:
		return work{Stop: HostFault}, nil
	case r.State != Running:
		return work{}, nil
	}
	w := work{Settle: r.SettledAt == nil || now.Sub(*r.SettledAt) >= s.cfg.SettleEvery}
	live := r.liveMS(now, s.cfg.Unreachable)
	limit, limited, err := r.maximumMS()
	if err != nil {
		return work{}, err
	}
	if limited && live >= limit {
		w.Stop = MaximumReached
		return w, nil
	}
	funds, err := r.Charged.Add(more)
	if err != nil {
		return work{}, err
	}
	paid, err := affords(funds, r.Rental)
	if err != nil {
		return work{}, err
	}
	if limited && limit <= paid {
		return w, nil // there is money for all of it
	}
	left := time.Duration(min(paid-live, time.Hour.Milliseconds())) * time.Millisecond
	if left < s.cfg.StopMargin {
		w.Stop = FundsExhausted
	}
	w.Warn = left < lowFunds && r.WarnedAt == nil
	return w, nil
}

// moneyOf is the money that a rental can still use: its hold, and what its customer has free.
func (s *Service) moneyOf(ctx context.Context, q db.Querier, r record) (money.Micro, error) {
	held, err := s.ledger.Balance(ctx, q, ledger.Hold(r.CustomerID, r.ID))
	if err != nil {
		return 0, err
	}
	free, err := s.ledger.Balance(ctx, q, ledger.Available(r.CustomerID))
	if err != nil {
		return 0, err
	}
	return held.Add(free)
}

// sweep does what is due, looking again now that the rental is locked.
func (s *Service) sweep(ctx context.Context, tx db.Tx, now time.Time, r *record) error {
	more, err := s.moneyOf(ctx, tx, *r)
	if err != nil {
		return err
	}
	w, err := s.workOf(now, *r, more)
	if err != nil {
		return err
	}
	if w.End != "" {
		return s.end(ctx, tx, now, r, w.End)
	}
	if w.Warn {
		r.WarnedAt = &now
		if err := insertEvent(ctx, tx, now, r.ID, r.State, "funds_low"); err != nil {
			return err
		}
	}
	if w.Stop != "" {
		return s.beginStop(ctx, tx, now, r, w.Stop)
	}
	if w.Settle {
		if err := s.settle(ctx, tx, now, r, false); err != nil {
			return err
		}
		if err := s.topUp(ctx, tx, now, r); err != nil {
			return err
		}
	}
	if w == (work{}) {
		return nil
	}
	return saveRental(ctx, tx, *r)
}
