package rental

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/gpu"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/money"
)

// days is how many days Earnings lists.
const days = 90

// Earnings gives a provider's earnings, the days of the last 90 days. A settlement counts at its moment; what is metered
// and not settled counts today.
func (s *Service) Earnings(ctx context.Context, now time.Time, provider string) (Earnings, error) {
	now = s.tick(now)
	e := Earnings{AsOf: now}
	err := atOneMoment(ctx, s.db, func(tx db.Tx) error {
		today := now.Truncate(24 * time.Hour)
		month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
		for to, since := range map[*money.Micro]time.Time{&e.Week: monday(today), &e.Month: month, &e.Total: {}} {
			sum, err := earnedSince(ctx, tx, provider, since)
			if err != nil {
				return err
			}
			*to = sum
		}
		byRental, err := earnedByRental(ctx, tx, provider, month)
		if err != nil {
			return err
		}
		open, err := openOf(ctx, tx, provider)
		if err != nil {
			return err
		}
		for _, r := range open {
			live, ms, perHour, err := s.openEarning(now, r)
			if err != nil {
				return err
			}
			e.PerHour += perHour
			e.LiveOpen += live
			if live > 0 || ms > 0 {
				byRental = append(byRental, earning{RentalID: r.ID, Model: r.Model, Micro: live, MS: ms})
			}
		}
		if e.Days, err = lastDays(ctx, tx, today, provider); err != nil {
			return err
		}
		e.Days[days-1].Micro += e.LiveOpen
		e.Week, e.Month, e.Total = e.Week+e.LiveOpen, e.Month+e.LiveOpen, e.Total+e.LiveOpen
		if err := split(ctx, tx, &e, byRental); err != nil {
			return err
		}
		if e.Earned, err = s.ledger.Balance(ctx, tx, ledger.Earned(provider)); err != nil {
			return err
		}
		e.Payable, err = s.ledger.Balance(ctx, tx, ledger.Payable(provider))
		return err
	})
	if err != nil {
		return Earnings{}, fmt.Errorf("rental: earnings: %w", err)
	}
	return e, nil
}

// monday is the beginning of the week of a day.
func monday(day time.Time) time.Time {
	return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
}

// openEarning is what the provider has earned with an open rental and isn't in the books, its time, and what it earns in
// an hour if it runs now.
func (s *Service) openEarning(now time.Time, r record) (live money.Micro, ms int64, perHour money.Micro, err error) {
	charge := r.Live(now, s.cfg.Unreachable)
	fee, err := money.Fee(charge, r.FeeBPS)
	if err != nil {
		return 0, 0, 0, err
	}
	live = (charge - fee) - (r.Charged - r.Fee)
	ms = r.liveMS(now, s.cfg.Unreachable) - r.SettledMS
	if r.State != Running || r.MeteredAt == nil || now.Sub(*r.MeteredAt) > s.cfg.Unreachable {
		return live, ms, 0, nil
	}
	hour, err := money.Charge(r.Micro, r.GPUs, time.Hour.Milliseconds())
	if err != nil {
		return 0, 0, 0, err
	}
	if fee, err = money.Fee(hour, r.FeeBPS); err != nil {
		return 0, 0, 0, err
	}
	return live, ms, hour - fee, nil
}

// lastDays gives the last days up to today, also those without earnings.
func lastDays(ctx context.Context, q db.Querier, today time.Time, provider string) ([]Day, error) {
	first := today.AddDate(0, 0, 1-days)
	earned, err := earnedByDay(ctx, q, provider, first)
	if err != nil {
		return nil, err
	}
	list := make([]Day, days)
	for i := range list {
		list[i].Date = first.AddDate(0, 0, i)
	}
	for _, d := range earned {
		if i := int(d.Date.Sub(first) / (24 * time.Hour)); i >= 0 && i < days {
			list[i].Micro += d.Micro
		}
	}
	return list, nil
}

// split divides what rentals earned among models, and among the GPUs that each rental has: evenly, the first GPUs
// taking what doesn't divide.
func split(ctx context.Context, q db.Querier, e *Earnings, byRental []earning) error {
	ids := make([]string, len(byRental))
	for i, r := range byRental {
		ids[i] = r.RentalID
	}
	had, err := gpusOfRentals(ctx, q, ids)
	if err != nil {
		return err
	}
	of := map[string][]rentalGPU{}
	for _, g := range had {
		of[g.RentalID] = append(of[g.RentalID], g)
	}
	gpus, models := map[string]*Slice{}, map[string]*Slice{}
	add := func(to map[string]*Slice, id, label string, amount money.Micro, ms int64) {
		if to[id] == nil {
			to[id] = &Slice{ID: id, Label: label}
		}
		to[id].Micro += amount
		to[id].MS += ms
	}
	for _, r := range byRental {
		n := int64(len(of[r.RentalID]))
		add(models, r.Model, modelName(r.Model), r.Micro, r.MS*n)
		for i, g := range of[r.RentalID] {
			part := int64(r.Micro) / n
			if int64(i) < int64(r.Micro)%n {
				part++
			}
			add(gpus, g.GPUID, modelName(g.Model)+" · "+short(g.UUID), money.Micro(part), r.MS)
		}
	}
	e.ByGPU, e.ByModel = largest(gpus), largest(models)
	return nil
}

func largest(of map[string]*Slice) []Slice {
	list := make([]Slice, 0, len(of))
	for _, s := range of {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b Slice) int { return cmp.Or(cmp.Compare(b.Micro, a.Micro), cmp.Compare(a.ID, b.ID)) })
	return list
}

func modelName(key string) string {
	if m, ok := gpu.Find(key); ok {
		return m.Name
	}
	return key
}

// short is enough of a GPU's UUID to tell it from its neighbours.
func short(uuid string) string {
	if len(uuid) > 12 {
		return uuid[:12] + "…"
	}
	return uuid
}
