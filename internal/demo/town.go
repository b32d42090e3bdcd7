package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/controlplane"
	"github.com/gpunex/gpunex/internal/market"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/provider"
	"github.com/gpunex/gpunex/internal/rental"
)

// Town is a platform with people, a simulated host and a rental, made once and found again after a restart.
type Town struct {
	Agent  string // path of the gpunex-agent program
	Dir    string // the host's state
	Image  string
	Docker bool
	Out    io.Writer // what to try
	Log    io.Writer
}

const townModel = "h100-sxm"

// Run fills the platform, prints what to try and keeps the host running until ctx ends.
func (t *Town) Run(ctx context.Context, p *controlplane.Platform) error {
	operator, err := p.Accounts.MakeOperator(ctx, time.Now(), operatorPerson)
	if err != nil {
		return err
	}
	owner, err := signUp(ctx, p.Accounts, providerPerson)
	if err != nil {
		return err
	}
	customer, err := signUp(ctx, p.Accounts, customerPerson)
	if err != nil {
		return err
	}
	if err := t.open(ctx, p, operator, owner, customer); err != nil {
		return err
	}
	if err := t.applicant(ctx, p); err != nil {
		return err
	}
	secret, err := p.Fleet.Issue(ctx, p.DB, time.Now(), owner.Account.ID, 1)
	if err != nil {
		return err
	}
	host := &Host{
		Agent: t.Agent, Dir: t.Dir, Name: "demo-host", Profile: townModel + "x2", Platform: p.URL, Token: secret,
		Docker: t.Docker, Log: t.Log,
	}
	if err := host.Start(); err != nil {
		return err
	}
	defer host.Stop()
	if err := t.let(ctx, p, customer); err != nil && ctx.Err() == nil {
		return err
	}
	t.print(p.URL)
	<-ctx.Done()
	return nil
}

// open takes the provider through application and approval and gives the customer test money.
func (t *Town) open(ctx context.Context, p *controlplane.Platform, operator, owner, customer account.Identity) error {
	if _, is, err := p.Providers.Of(ctx, owner.Account.ID); err != nil {
		return err
	} else if !is {
		if _, err := p.Providers.Open(ctx, time.Now(), owner); err != nil {
			return err
		}
		a, err := p.Providers.Submit(ctx, time.Now(), owner, form(providerPerson, townModel, "2"))
		if err != nil {
			return err
		}
		err = p.Providers.Approve(ctx, time.Now(), operator, a.ID, provider.Approval{Tier: provider.Enterprise, Models: []string{townModel}, MaxHosts: 2})
		if err != nil {
			return err
		}
	}
	if _, err := p.Market.SetPrice(ctx, time.Now(), owner, townModel, "2.19"); err != nil {
		return err
	}
	return p.Ledger.GiveTestFunds(ctx, time.Now(), "town", customer.Account.ID, operator.Person.ID, 500*money.USDC)
}

// applicant leaves an application on the operator's desk, unless one was decided before.
func (t *Town) applicant(ctx context.Context, p *controlplane.Platform) error {
	who, err := signUp(ctx, p.Accounts, applicantPerson)
	if err != nil {
		return err
	}
	if _, has, err := p.Providers.Current(ctx, who.Account.ID); err != nil || has {
		return err
	}
	if _, err := p.Providers.Open(ctx, time.Now(), who); err != nil {
		return err
	}
	f := form(applicantPerson, "rtx-4090", "4")
	f.UPS, f.Commitment = false, "0"
	f.Entries[0].Availability = "schedule"
	for day := range 5 {
		f.Entries[0].Schedule = append(f.Entries[0].Schedule, provider.Window{Day: day, From: "19:00", To: "24:00"})
	}
	f.Entries[0].City, f.Entries[0].Region = "Porto", ""
	_, err = p.Providers.Submit(ctx, time.Now(), who, f)
	return err
}

// let rents one GPU, unless the customer's rental of an earlier run goes on.
func (t *Town) let(ctx context.Context, p *controlplane.Platform, customer account.Identity) error {
	list, err := p.Rentals.List(ctx, customer, 1)
	if err != nil {
		return err
	}
	if len(list) > 0 && list[0].State != rental.Ended {
		return nil
	}
	var offer market.Offer
	err = await(ctx, "the simulated host's offer", time.Minute, func() (bool, error) {
		offers, err := p.Market.Search(ctx, time.Now(), market.Search{Model: townModel})
		if len(offers) > 0 {
			offer = offers[0]
		}
		return len(offers) > 0, err
	})
	if err != nil {
		return err
	}
	q, err := p.Market.Quote(ctx, time.Now(), customer, offer.HostID, offer.Model, 1)
	if err != nil {
		return err
	}
	_, err = p.Rentals.Start(ctx, time.Now(), customer, rental.Order{QuoteID: q.ID, IdemKey: "town-" + q.ID, Image: t.Image})
	return err
}

func (t *Town) print(url string) {
	engine := "real Docker containers"
	if !t.Docker {
		engine = "a SIMULATED container runtime (no Docker engine answers on this machine)"
	}
	fmt.Fprintf(t.Out, `
GPUnex runs at %[1]s with one host whose 2 GPUs are simulated, on %[3]s.

  sign in as                 password            to see
  %-25[4]s  %-18[2]s  a running rental: Instances, its live log and cost, Billing
  %-25[5]s  %-18[2]s  Provider Dashboard: live earnings, Benchmarks, Pricing, Payouts
  %-25[6]s  %-18[2]s  Application review, outbox, hosts, payouts, the ledger's audit
  %-25[7]s  %-18[2]s  an application that waits for the operator, in Portuguese

Try: rent the second GPU in the Marketplace; apply as a provider with a new account and approve it as the operator
(mails are in the outbox); change the price to "2,50"; stop a rental and look at Billing and Earnings.
Ctrl-C stops platform and host; data stays, rented containers go on, and the next start adopts them.

`, url, Password, engine, customerPerson.Email, providerPerson.Email, operatorPerson.Email, applicantPerson.Email)
}

// textLog is a logger for people who read a demo's log.
func textLog(w io.Writer) *slog.Logger {
	if w == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
