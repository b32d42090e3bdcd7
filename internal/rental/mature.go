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

// Mature makes earnings payable that are old enough: one pass, a transaction for each provider. It gives what became
// payable, also beside an error of another provider.
func (s *Service) Mature(ctx context.Context, now time.Time) (matured money.Micro, err error) {
	now = s.tick(now)
	before := now.Add(-s.cfg.Maturity)
	providers, err := maturingProviders(ctx, s.db, before)
	if err != nil {
		return 0, fmt.Errorf("rental: mature: %w", err)
	}
	var all []error
	for _, p := range providers {
		var sum money.Micro
		err := s.db.InTx(ctx, func(tx db.Tx) (err error) {
			sum, err = s.mature(ctx, tx, now, before, p)
			return err
		})
		if err != nil {
			all = append(all, fmt.Errorf("rental: mature %s: %w", p, err))
			continue
		}
		matured += sum
		if err := s.crash("matured"); err != nil {
			all = append(all, err)
		}
	}
	return matured, errors.Join(all...)
}

func (s *Service) mature(ctx context.Context, tx db.Tx, now, before time.Time, provider string) (money.Micro, error) {
	list, err := lockMature(ctx, tx, before, provider)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	var sum money.Micro
	for _, m := range list {
		if sum, err = sum.Add(m.Earned); err != nil {
			return 0, err
		}
	}
	if sum > 0 {
		_, _, err = s.ledger.Post(ctx, tx, ledger.Posting{
			// A settlement matures once, so the first one names the posting.
			Key: fmt.Sprintf("mature:%s:%s:%d", provider, list[0].RentalID, list[0].N), Kind: "mature", Subject: provider,
			Memo: fmt.Sprintf("%d settlements became payable", len(list)), At: now,
			Legs: []ledger.Leg{{Account: ledger.Earned(provider), Micro: -sum}, {Account: ledger.Payable(provider), Micro: sum}},
		})
		if err != nil {
			return 0, err
		}
	}
	if err := s.crash("mature posted"); err != nil {
		return 0, err
	}
	return sum, setMature(ctx, tx, now, list)
}
