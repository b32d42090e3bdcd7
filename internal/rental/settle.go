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

// due is what a rental's metered time costs in all, and how much of it isn't in the books yet.
type due struct {
	Total, Fee      money.Micro // cumulative
	Charge, FeePart money.Micro // not in the books yet
}

func dueOf(r record) (due, error) {
	var d due
	var err error
	if d.Total, err = money.Charge(r.Micro, r.GPUs, r.BilledMS); err != nil {
		return due{}, err
	}
	if d.Fee, err = money.Fee(d.Total, r.FeeBPS); err != nil {
		return due{}, err
	}
	d.Charge, d.FeePart = d.Total-r.Charged, d.Fee-r.Fee
	if d.Charge < 0 || d.FeePart < 0 || d.FeePart > d.Charge {
		return due{}, fmt.Errorf("rental: %s: charged %s with a fee of %s, but %d ms cost %s with %s", r.ID, r.Charged, r.Fee, r.BilledMS, d.Total, d.Fee)
	}
	return d, nil
}

// settle brings a rental's metered time into the books, in the caller's transaction. The hold covers it: metering
// stops where the hold does. The last settlement records time that costs nothing, too. It doesn't save the rental.
func (s *Service) settle(ctx context.Context, tx db.Tx, now time.Time, r *record, last bool) error {
	r.SettledAt = &now
	if r.BilledMS == r.SettledMS {
		return nil
	}
	d, err := dueOf(*r)
	if err != nil {
		return err
	}
	if d.Charge == 0 && !last {
		return nil // less than a micro: the next settlement takes it along
	}
	n := r.Settlements + 1
	if d.Charge > 0 {
		p := ledger.Posting{
			Key: fmt.Sprintf("usage:%s:%d", r.ID, n), Kind: "usage", Subject: r.ID, At: now,
			Memo: fmt.Sprintf("GPU time up to %d.%03d s", r.BilledMS/1000, r.BilledMS%1000),
			Legs: []ledger.Leg{{Account: ledger.Hold(r.CustomerID, r.ID), Micro: -d.Charge}},
		}
		if earned := d.Charge - d.FeePart; earned > 0 {
			p.Legs = append(p.Legs, ledger.Leg{Account: ledger.Earned(r.ProviderID), Micro: earned})
		}
		if d.FeePart > 0 {
			p.Legs = append(p.Legs, ledger.Leg{Account: ledger.Fees(), Micro: d.FeePart})
		}
		if _, _, err := s.ledger.Post(ctx, tx, p); err != nil {
			return err
		}
	}
	if err := s.crash("usage posted"); err != nil {
		return err
	}
	if err := insertSettlement(ctx, tx, now, *r, n, d); err != nil {
		return err
	}
	r.Charged, r.Fee, r.Settlements, r.SettledMS = d.Total, d.Fee, n, r.BilledMS
	return s.crash("settled")
}

// topUp holds money for the time after what is settled, as far as the customer has any. It doesn't save the rental.
func (s *Service) topUp(ctx context.Context, tx db.Tx, now time.Time, r *record) error {
	want, err := s.holdFor(r.Rental, r.SettledMS)
	if err != nil {
		return err
	}
	for range 3 { // somebody else may spend what was seen here
		have, err := s.ledger.Balance(ctx, tx, ledger.Hold(r.CustomerID, r.ID))
		if err != nil {
			return err
		}
		free, err := s.ledger.Balance(ctx, tx, ledger.Available(r.CustomerID))
		if err != nil {
			return err
		}
		amount := min(want-have, free)
		if amount <= 0 {
			return nil
		}
		_, _, err = s.ledger.Post(ctx, tx, holding(r.Rental, r.Holds, amount, now))
		if errors.Is(err, ledger.ErrFunds) {
			continue
		}
		if err != nil {
			return err
		}
		r.Holds++
		return s.crash("topped up")
	}
	return nil // the next settlement tries again
}

// release gives the rest of a hold back.
func (s *Service) release(ctx context.Context, tx db.Tx, now time.Time, r record) error {
	rest, err := s.ledger.Balance(ctx, tx, ledger.Hold(r.CustomerID, r.ID))
	if err != nil || rest == 0 {
		return err
	}
	_, _, err = s.ledger.Post(ctx, tx, ledger.Posting{
		Key: "release:" + r.ID, Kind: "release", Subject: r.ID, Memo: "What the hold didn't need", At: now,
		Legs: []ledger.Leg{{Account: ledger.Hold(r.CustomerID, r.ID), Micro: -rest}, {Account: ledger.Available(r.CustomerID), Micro: rest}},
	})
	return err
}

// capMS is how long a rental may be billed in all: what its hold covers, and its own maxima.
func (s *Service) capMS(ctx context.Context, tx db.Tx, r record) (int64, error) {
	held, err := s.ledger.Balance(ctx, tx, ledger.Hold(r.CustomerID, r.ID))
	if err != nil {
		return 0, err
	}
	return paidMS(r.Rental, held)
}

// paidMS is for how long a rental can be billed in all with more money than it has been charged.
func paidMS(r Rental, more money.Micro) (int64, error) {
	funds, err := r.Charged.Add(more)
	if err != nil {
		return 0, err
	}
	ms, err := affords(funds, r)
	if err != nil {
		return 0, err
	}
	limit, limited, err := r.maximumMS()
	if limited {
		ms = min(ms, limit)
	}
	return ms, err
}

// foreverMS is longer than any rental: 140,000 years.
const foreverMS = 1 << 52

// affords is for how many milliseconds funds pay for a rental.
func affords(funds money.Micro, r Rental) (int64, error) {
	ms, limited, err := money.Affords(funds, r.Micro, r.GPUs)
	if errors.Is(err, money.ErrOverflow) || err == nil && !limited {
		return foreverMS, nil
	}
	return min(ms, foreverMS), err
}
