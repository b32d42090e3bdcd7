package market

import (
	"context"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/id"
	"github.com/gpunex/gpunex/internal/money"
)

// hourMS is an hour in milliseconds.
const hourMS = 3_600_000

func hourCost(q Quote) (money.Micro, error) { return money.Charge(q.Micro, q.GPUs, hourMS) }

// Quote promises a price. Faults: offer_gone, gpus_invalid, not_enough_gpus, viewers_only_look.
func (s *Service) Quote(ctx context.Context, now time.Time, who account.Identity, host, model string, gpus int) (Quote, error) {
	if err := who.MayAct(); err != nil {
		return Quote{}, err
	}
	if gpus < 1 {
		return Quote{}, fault.New(fault.Invalid, "gpus_invalid", "Enter a number of GPUs from 1")
	}
	o, err := s.Offer(ctx, now, host, model)
	if err != nil {
		return Quote{}, err
	}
	if gpus > o.Free {
		return Quote{}, notEnough(o.Free)
	}
	q := Quote{ID: id.New(id.Quote), CustomerID: who.Account.ID, HostID: host, Model: model, GPUs: gpus, Micro: o.Micro,
		FeeBPS: s.cfg.FeeBPS, CreatedAt: now, ExpiresAt: now.Add(s.cfg.QuoteTTL)}
	if q.HourCost, err = hourCost(q); err == nil {
		err = insertQuote(ctx, s.db, q)
	}
	if err != nil {
		return Quote{}, fmt.Errorf("market: quote: %w", err)
	}
	return q, nil
}

// QuoteByID gives a quote of the customer. Fault: quote_not_found.
func (s *Service) QuoteByID(ctx context.Context, who account.Identity, id string) (Quote, error) {
	q, err := readQuote(ctx, s.db, sqlQuote, id, who.Account.ID, hourCost)
	if err != nil {
		return Quote{}, fmt.Errorf("market: quote: %w", err)
	}
	return q, nil
}

// LockQuote is QuoteByID for the transaction that uses the quote: whoever else wants to use it waits.
func (s *Service) LockQuote(ctx context.Context, tx db.Tx, who account.Identity, id string) (Quote, error) {
	q, err := readQuote(ctx, tx, sqlLockQuote, id, who.Account.ID, hourCost)
	if err != nil {
		return Quote{}, fmt.Errorf("market: quote: %w", err)
	}
	return q, nil
}
