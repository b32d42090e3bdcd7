package rental

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
)

// maxList is the longest list that is read at once.
const maxList = 1000

// Get gives a rental of the customer, of the provider whose host it is on, or of anyone for an operator. Fault: rental_not_found.
func (s *Service) Get(ctx context.Context, who account.Identity, id string) (Rental, error) {
	r, err := rentalByID(ctx, s.db, id)
	if errors.Is(err, db.ErrNoRow) {
		return Rental{}, rentalNotFound()
	}
	if err != nil {
		return Rental{}, fmt.Errorf("rental: get: %w", err)
	}
	if a := who.Account; a.ID != r.CustomerID && a.ID != r.ProviderID && !a.Operator {
		return Rental{}, rentalNotFound()
	}
	return r.Rental, nil
}

// List gives the customer's rentals, newest first.
func (s *Service) List(ctx context.Context, who account.Identity, limit int) ([]Rental, error) {
	list, err := listOf(ctx, s.db, who.Account.ID, min(max(limit, 1), maxList))
	if err != nil {
		return nil, fmt.Errorf("rental: list: %w", err)
	}
	return rentals(list), nil
}

// OnHosts gives the open rentals on a provider's hosts ("" for all), newest first.
func (s *Service) OnHosts(ctx context.Context, provider string) ([]Rental, error) {
	list, err := openOf(ctx, s.db, provider)
	if err != nil {
		return nil, fmt.Errorf("rental: on hosts: %w", err)
	}
	return rentals(list), nil
}

// Events gives a rental's life. A detail is a phase, a reason or a code of its own, as in funds_low.
func (s *Service) Events(ctx context.Context, id string) ([]Event, error) {
	list, err := eventsOf(ctx, s.db, id)
	if err != nil {
		return nil, fmt.Errorf("rental: events: %w", err)
	}
	return list, nil
}
