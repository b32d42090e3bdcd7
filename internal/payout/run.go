package payout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/id"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/money"
)

// Run plans the newest period that has ended, sends what is planned and settles what was sent. Running it again does
// only what is left; it may be killed anywhere. One provider's trouble doesn't keep the others from being paid: the
// error holds all of it, beside a summary of what was done.
func (s *Service) Run(ctx context.Context, now time.Time) (Summary, error) {
	sum := Summary{Skipped: map[string]string{}}
	var errs []error
	for _, schedule := range []string{weekly, monthly} {
		if err := s.planPeriod(ctx, now, schedule, periodEnd(schedule, now), &sum); err != nil {
			errs = append(errs, fmt.Errorf("payout: plan %s: %w", schedule, err))
		}
	}
	open, err := openPayouts(ctx, s.db)
	if err != nil {
		return sum, errors.Join(append(errs, fmt.Errorf("payout: find what is open: %w", err))...)
	}
	for _, p := range open {
		if err := ctx.Err(); err != nil {
			errs = append(errs, err)
			break
		}
		state, err := s.pursue(ctx, now, p)
		if err != nil {
			errs = append(errs, fmt.Errorf("payout %s: %w", p.ID, err))
		}
		switch state {
		case Paid:
			sum.Paid++
		case Returned:
			sum.Returned++
		case Planned, Sending:
		}
	}
	if sum.Open, err = countOpen(ctx, s.db); err != nil {
		errs = append(errs, fmt.Errorf("payout: count what is open: %w", err))
	}
	return sum, errors.Join(errs...)
}

// planPeriod plans one schedule's period, unless that was finished before.
func (s *Service) planPeriod(ctx context.Context, now time.Time, schedule string, end time.Time, sum *Summary) error {
	if end.After(sum.PeriodEnd) {
		sum.PeriodEnd = end
	}
	s.step("start of run")
	r, err := ensureRun(ctx, s.db, run{ID: id.New(id.PayoutRun), Schedule: schedule, PeriodEnd: end, StartedAt: now})
	if err != nil {
		return err
	}
	s.step("run written")
	if r.PlannedAt != nil {
		return nil
	}
	providers, err := providersOf(ctx, s.db, schedule)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range providers {
		if err := s.planProvider(ctx, now, r, p, sum); err != nil {
			errs = append(errs, fmt.Errorf("provider %s: %w", p, err))
		}
		s.step("provider planned")
	}
	if len(errs) > 0 {
		return errors.Join(errs...) // the run stays open, and the next Run looks at everyone again
	}
	if err := closeRun(ctx, s.db, r.ID, now); err != nil {
		return err
	}
	s.step("run closed")
	return nil
}

// attempts is how often a provider is planned anew when money left the payable account between reading and posting.
const attempts = 3

// planProvider decides about one provider and writes the decision, in one transaction.
func (s *Service) planProvider(ctx context.Context, now time.Time, r run, provider string, sum *Summary) error {
	var err error
	for range attempts {
		var planned money.Micro
		var skipped string
		err = s.db.InTx(ctx, func(tx db.Tx) (err error) {
			planned, skipped, err = s.planIn(ctx, tx, now, r, provider)
			return err
		})
		if errors.Is(err, ledger.ErrFunds) {
			continue
		}
		if err == nil && skipped != "" {
			sum.Skipped[provider] = skipped
		}
		if err == nil && planned > 0 {
			sum.Planned++
			sum.Micro += planned
		}
		return err
	}
	return err
}

// planIn is planProvider within its transaction: what it planned, or why nothing. Neither: it was done before.
func (s *Service) planIn(ctx context.Context, tx db.Tx, now time.Time, r run, provider string) (planned money.Micro, skipped string, err error) {
	if open, err := lockOpenRun(ctx, tx, r.ID); err != nil || !open {
		return 0, "", err
	}
	// From here on nobody else plans this provider, so that what is read stays true until the commit.
	if err := lockProvider(ctx, tx, provider); err != nil {
		return 0, "", err
	}
	if done, err := plannedBefore(ctx, tx, r.ID, provider); err != nil || done {
		return 0, "", err
	}
	st, err := s.standing(ctx, tx, provider)
	if err != nil || st.Setting.Schedule != r.Schedule {
		return 0, "", err
	}
	payouts, why := Plan([]Standing{st}, s.cfg.Minimum)
	if len(payouts) == 0 {
		return 0, why[provider], nil
	}
	p := payouts[0]
	p.ID, p.RunID, p.PlannedAt, p.PeriodEnd = id.New(id.Payout), r.ID, now, r.PeriodEnd
	if err := insertPayout(ctx, tx, p); err != nil {
		return 0, "", err
	}
	s.step("payout row, uncommitted")
	_, _, err = s.ledger.Post(ctx, tx, ledger.Posting{
		Key: "payout:" + r.ID + ":" + provider, Kind: "payout", Subject: p.ID, At: now,
		Memo: "Taken for the payout of the period before " + r.PeriodEnd.UTC().Format(time.DateOnly),
		Legs: []ledger.Leg{{Account: ledger.Payable(provider), Micro: -p.Micro}, {Account: ledger.InTransit(provider), Micro: p.Micro}},
	})
	s.step("posting, uncommitted")
	return p.Micro, "", err
}

// Preview is a dry run: what Run would plan at now. It writes nothing.
func (s *Service) Preview(ctx context.Context, now time.Time) ([]Payout, Summary, error) {
	sum := Summary{Skipped: map[string]string{}}
	var list []Payout
	for _, schedule := range []string{weekly, monthly} {
		end := periodEnd(schedule, now)
		if end.After(sum.PeriodEnd) {
			sum.PeriodEnd = end
		}
		r, err := findRun(ctx, s.db, schedule, end)
		if err != nil {
			return nil, Summary{}, fmt.Errorf("payout: preview: %w", err)
		}
		if r.PlannedAt != nil {
			continue
		}
		providers, err := providersOf(ctx, s.db, schedule)
		if err != nil {
			return nil, Summary{}, fmt.Errorf("payout: preview: %w", err)
		}
		var standings []Standing
		for _, p := range providers {
			done, err := plannedBefore(ctx, s.db, r.ID, p)
			if err != nil {
				return nil, Summary{}, fmt.Errorf("payout: preview: %w", err)
			}
			if done {
				continue
			}
			st, err := s.standing(ctx, s.db, p)
			if err != nil {
				return nil, Summary{}, err
			}
			standings = append(standings, st)
		}
		payouts, skipped := Plan(standings, s.cfg.Minimum)
		for _, p := range payouts {
			p.PeriodEnd, p.PlannedAt = end, now
			list = append(list, p)
			sum.Planned++
			sum.Micro += p.Micro
		}
		for p, why := range skipped {
			sum.Skipped[p] = why
		}
	}
	var err error
	if sum.Open, err = countOpen(ctx, s.db); err != nil {
		return nil, Summary{}, fmt.Errorf("payout: preview: %w", err)
	}
	return list, sum, nil
}

// standing reads what the plan needs to know of a provider. Fault: provider_required.
func (s *Service) standing(ctx context.Context, q db.Querier, provider string) (Standing, error) {
	st, err := standingOf(ctx, q, provider)
	if errors.Is(err, db.ErrNoRow) {
		return Standing{}, errNoProvider()
	}
	if err == nil {
		st.Payable, err = s.ledger.Balance(ctx, q, ledger.Payable(provider))
	}
	if err != nil {
		return Standing{}, fmt.Errorf("payout: standing of %s: %w", provider, err)
	}
	return st, nil
}
