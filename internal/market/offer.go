package market

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/gpu"
	"github.com/gpunex/gpunex/internal/money"
)

// offersOf makes offers of facts: one for each host and model that has a GPU on offer.
func offersOf(all []facts) []Offer {
	type key struct{ host, model string }
	at := map[key]int{}
	var list []Offer
	for _, f := range all {
		k := key{f.HostID, f.Model}
		i, known := at[k]
		if !known {
			i = len(list)
			at[k] = i
			list = append(list, offerOf(f))
		}
		o := &list[i]
		if f.Present {
			o.Total++
		}
		if len(Reasons(f)) > 0 {
			continue
		}
		if o.Free == 0 {
			o.Score, o.Health = f.Score, f.Health
		}
		o.Free++
		o.Score, o.Health = min(o.Score, f.Score), min(o.Health, f.Health)
	}
	return slices.DeleteFunc(list, func(o Offer) bool { return o.Free == 0 })
}

func offerOf(f facts) Offer {
	o := Offer{
		HostID: f.HostID, HostName: f.HostName, ProviderID: f.ProviderID, Tier: f.Tier,
		Model: f.Model, ModelName: name(f.Model), VRAMGiB: int((f.VRAMMiB + 1023) / 1024), Micro: money.Micro(f.Micro),
		City: f.City, Country: f.Country, Region: f.Region, Isolation: f.Isolation, Runtime: f.Runtime, Simulated: f.Simulated,
		CPUs: f.CPUs, RAMMiB: f.RAMMiB, DiskMiB: f.DiskMiB, Driver: f.Driver, CUDA: f.CUDA,
	}
	if m, ok := gpu.Find(f.Model); ok {
		o.VRAMGiB = m.VRAMGiB
	}
	return o
}

func (q Search) matches(o Offer) bool {
	return o.VRAMGiB >= q.MinVRAMGiB && (q.MaxPrice == 0 || o.Micro <= q.MaxPrice) && o.Score >= q.MinScore &&
		(q.Country == "" || o.Country == q.Country) && (q.Tier == "" || o.Tier == q.Tier) && o.Free >= q.Count
}

// order puts offers in the order that was asked for; the recommended one is by price, then by score, for now.
func (q Search) order(list []Offer) {
	slices.SortStableFunc(list, func(a, b Offer) int {
		price, score := cmp.Compare(a.Micro, b.Micro), cmp.Compare(b.Score, a.Score)
		same := cmp.Or(cmp.Compare(a.HostID, b.HostID), cmp.Compare(a.Model, b.Model))
		if q.Order == "score" {
			return cmp.Or(score, price, same)
		}
		return cmp.Or(price, score, same)
	})
}

// Search lists the offers that match.
func (s *Service) Search(ctx context.Context, _ time.Time, q Search) ([]Offer, error) {
	all, err := factsOf(ctx, s.db, "", "", q.Model)
	if err != nil {
		return nil, fmt.Errorf("market: search: %w", err)
	}
	list := slices.DeleteFunc(offersOf(all), func(o Offer) bool { return !q.matches(o) })
	q.order(list)
	return list, nil
}

// Offer gives one offer. Fault: offer_gone.
func (s *Service) Offer(ctx context.Context, _ time.Time, host, model string) (Offer, error) {
	if host == "" || model == "" {
		return Offer{}, OfferGone()
	}
	all, err := factsOf(ctx, s.db, "", host, model)
	if err != nil {
		return Offer{}, fmt.Errorf("market: offer: %w", err)
	}
	list := offersOf(all)
	if len(list) == 0 {
		return Offer{}, OfferGone()
	}
	return list[0], nil
}

// Free lists the GPUs of one model on one host that can be let now, in the order of their identifiers. Call it in the
// transaction that claims them, with the host's row locked.
func (s *Service) Free(ctx context.Context, q db.Querier, host, model string) ([]string, error) {
	all, err := factsOf(ctx, q, "", host, model)
	if err != nil {
		return nil, fmt.Errorf("market: free: %w", err)
	}
	var free []string
	for _, f := range all {
		if len(Reasons(f)) == 0 {
			free = append(free, f.GPUID)
		}
	}
	slices.Sort(free)
	return free, nil
}

// Listings says for each of a provider's GPUs whether the market shows it, and every reason why not; provider "" lists
// all, for operators.
func (s *Service) Listings(ctx context.Context, _ time.Time, provider string) ([]Listing, error) {
	all, err := factsOf(ctx, s.db, provider, "", "")
	if err != nil {
		return nil, fmt.Errorf("market: listings: %w", err)
	}
	list := make([]Listing, len(all))
	for i, f := range all {
		why := Reasons(f)
		list[i] = Listing{
			GPUID: f.GPUID, UUID: f.UUID, HostID: f.HostID, HostName: f.HostName, Online: f.Online, Model: f.Model, Name: name(f.Model),
			VRAMMiB: f.VRAMMiB, Micro: money.Micro(f.Micro), Score: f.Score, Rental: f.Rental, Listed: len(why) == 0, Reasons: why, Simulated: f.Simulated,
		}
	}
	return list, nil
}
