package market

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/gpu"
	"github.com/gpunex/gpunex/internal/money"
)

// Prices lists the provider's rates: of every approved model and every model that its hosts have. Models of the
// catalogue come first, in its order.
func (s *Service) Prices(ctx context.Context, provider string) ([]Price, error) {
	list, err := pricesOf(ctx, s.db, provider)
	if err != nil {
		return nil, fmt.Errorf("market: prices: %w", err)
	}
	models := gpu.Models()
	place := func(p Price) int {
		i := slices.IndexFunc(models, func(m gpu.Model) bool { return m.Key == p.Model })
		if i < 0 {
			return len(models)
		}
		return i
	}
	slices.SortStableFunc(list, func(a, b Price) int { return place(a) - place(b) })
	return list, nil
}

// SetPrice sets the rate of a model from what was typed, as in "2.19" or "2,19". It holds for quotes from now on; what
// is let keeps its rate. Faults: price_required, price_not_a_number, price_decimals, price_range (0.000001 to 1,000,000
// USDC), model_unknown, provider_required, viewers_only_look.
func (s *Service) SetPrice(ctx context.Context, now time.Time, who account.Identity, model, typed string) (money.Micro, error) {
	if err := who.MayAct(); err != nil {
		return 0, err
	}
	rate, err := readRate(typed)
	if err != nil {
		return 0, err
	}
	provider := who.Account.ID
	err = s.db.InTx(ctx, func(tx db.Tx) error {
		ok, err := isProvider(ctx, tx, provider)
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(fault.Forbidden, "provider_required", "This account doesn't provide GPUs")
		}
		if _, known := gpu.Find(model); !known {
			if known, err = hasModel(ctx, tx, provider, model); err != nil {
				return err
			}
			if !known {
				return fault.New(fault.NotFound, "model_unknown", "There is no such GPU model")
			}
		}
		return savePrice(ctx, tx, now, provider, who.Person.ID, model, rate)
	})
	if err != nil {
		return 0, fmt.Errorf("market: set price: %w", err)
	}
	return rate, nil
}
