package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/market"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/payout"
	"github.com/gpunex/gpunex/internal/payout/rail/simulated"
	"github.com/gpunex/gpunex/internal/provider"
)

var models = []string{"h100-sxm", "a100-80", "rtx-4090"}

// purses are what the customers begin with: from plenty to hardly anything.
var purses = []money.Micro{500 * money.USDC, 60 * money.USDC, 8 * money.USDC, money.USDC / 2}

// settleIn makes people, providers, hosts, prices and the first benchmarks.
func (w *World) settleIn(ctx context.Context) error {
	var err error
	if w.operator, err = w.p.Accounts.MakeOperator(ctx, w.now, person("operator")); err != nil {
		return fmt.Errorf("operator: %w", err)
	}
	for i := range w.cfg.Providers {
		if err := w.addProvider(ctx, i); err != nil {
			return fmt.Errorf("provider %d: %w", i, err)
		}
	}
	for i := range w.cfg.Customers {
		b := &buyer{name: fmt.Sprintf("c%d", i)}
		if b.who, err = w.p.Accounts.SignUp(ctx, w.now, person(b.name)); err != nil {
			return fmt.Errorf("customer %d: %w", i, err)
		}
		w.customers = append(w.customers, b)
		if err := w.fund(ctx, b, purses[i%len(purses)]); err != nil {
			return fmt.Errorf("customer %d: %w", i, err)
		}
	}
	for i := range w.cfg.Hosts {
		s := w.providers[i%len(w.providers)]
		h, err := w.newHost(i, s, pick(w, models), 1+w.rng.IntN(4))
		if err != nil {
			return err
		}
		token, err := w.p.Fleet.Issue(ctx, w.p.DB, w.now, s.who.Account.ID, 1)
		if err != nil {
			return fmt.Errorf("token: %w", err)
		}
		if err := h.enrol(ctx, token); err != nil {
			return err
		}
		w.hosts = append(w.hosts, h)
		w.note("%s: %d × %s of %s", h.name, h.gpus, h.model, s.name)
	}
	for range 12 {
		if err := w.pass(ctx, 10*time.Second); err != nil {
			return err
		}
	}
	return w.allOffered(ctx)
}

func person(name string) account.SignUp {
	return account.SignUp{Email: name + "@sim.example", Name: name, Password: "simulated person 2026", Locale: "en"}
}

// addProvider takes a person through application and approval. One of them is paid to a destination that is closed.
func (w *World) addProvider(ctx context.Context, i int) error {
	s := &seller{name: fmt.Sprintf("p%d", i)}
	in := person(s.name)
	var err error
	if s.who, err = w.p.Accounts.SignUp(ctx, w.now, in); err != nil {
		return err
	}
	if _, err := w.p.Providers.Open(ctx, w.now, s.who); err != nil {
		return err
	}
	a, err := w.p.Providers.Submit(ctx, w.now, s.who, form(in, w.cfg.Hosts*4))
	if err != nil {
		return err
	}
	approval := provider.Approval{Tier: provider.Enterprise, Models: models, MaxHosts: w.cfg.Hosts}
	if err := w.p.Providers.Approve(ctx, w.now, w.operator, a.ID, approval); err != nil {
		return err
	}
	destination := "simulated:" + s.name
	if i == 1 {
		destination = simulated.Closed
	}
	if err := w.p.Payouts.Set(ctx, w.now, s.who, payout.Setting{Schedule: "weekly", Rail: "simulated", Destination: destination}); err != nil {
		return err
	}
	for _, m := range models {
		if _, err := w.p.Market.SetPrice(ctx, w.now, s.who, m, "2.19"); err != nil {
			return err
		}
	}
	w.providers = append(w.providers, s)
	return nil
}

func form(p account.SignUp, n int) provider.Form {
	f := provider.Form{
		FullName: p.Name, Email: p.Email, UPS: true, Commitment: "12", MaintenanceNotes: "None planned.",
	}
	for _, m := range models {
		f.Entries = append(f.Entries, provider.Entry{
			Model: m, Quantity: strconv.Itoa(n), RAMGB: "512", UploadGbps: "1", DownloadGbps: "1", Availability: "24/7",
			City: "Lisbon", Country: "PT", Region: "eu-west",
		})
	}
	return f
}

// fund gives a customer test money.
func (w *World) fund(ctx context.Context, b *buyer, amount money.Micro) error {
	key := fmt.Sprintf("%s-%d", b.name, b.gifts)
	if err := w.p.Ledger.GiveTestFunds(ctx, w.now, key, b.who.Account.ID, w.operator.Person.ID, amount); err != nil {
		return err
	}
	b.funded += amount
	b.gifts++
	return nil
}

// allOffered says whether the market has every GPU that isn't let, with all hosts well.
func (w *World) allOffered(ctx context.Context) error {
	var errs []error
	for _, s := range w.providers {
		list, err := w.p.Market.Listings(ctx, w.now, s.who.Account.ID)
		if err != nil {
			return err
		}
		for _, l := range list {
			if !l.Listed && l.Rental == "" {
				errs = append(errs, fmt.Errorf("%s: GPU of %s isn't offered: %v", s.name, l.HostName, reasons(l)))
			}
		}
	}
	return errors.Join(errs...)
}

func reasons(l market.Listing) []string {
	var codes []string
	for _, r := range l.Reasons {
		codes = append(codes, r.Code)
	}
	return codes
}
