package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/controlplane"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/mail/mailtest"
	"github.com/gpunex/gpunex/internal/market"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/provider"
	"github.com/gpunex/gpunex/internal/rental"
)

// Config says where the story's parts are.
type Config struct {
	Agent string // path of the gpunex-agent program
	Image string // container image that is rented for
	Out   io.Writer
	Log   io.Writer // what platform and agent say
}

// Story runs the platform's whole path once and checks every figure. The first step that fails ends it.
func Story(ctx context.Context, cfg Config) (err error) {
	dir, err := os.MkdirTemp("", "gpunex-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the database's own user must be able to pass through
		return err
	}
	s := &story{Config: cfg, dir: dir, began: time.Now()}
	defer s.end()
	steps := []struct {
		name string
		run  func(context.Context) (string, error)
	}{
		{"platform", s.platform}, {"people", s.people}, {"application", s.apply}, {"approval", s.approve},
		{"install", s.install}, {"benchmark", s.benchmark}, {"price", s.price}, {"funds", s.funds}, {"rental", s.rent},
		{"no double", s.twice}, {"logs", s.logs}, {"earnings", s.earn}, {"stop", s.stop}, {"books", s.books},
		{"payout", s.pay}, {"once", s.payAgain},
	}
	for _, step := range steps {
		at := time.Now()
		said, err := step.run(ctx)
		if err != nil {
			fmt.Fprintf(cfg.Out, "FAIL %-12s %v\n", step.name, err)
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(cfg.Out, "ok   %-12s %6.2f s  %s\n", step.name, time.Since(at).Seconds(), said)
	}
	fmt.Fprintf(cfg.Out, "%d steps passed in %.1f s\n", len(steps), time.Since(s.began).Seconds())
	return nil
}

type story struct {
	Config
	dir   string
	began time.Time
	mails *mailtest.Sink
	p     *controlplane.Platform
	quit  context.CancelFunc
	ended chan error
	host  *Host

	operator, owner, customer account.Identity
	application               provider.Application
	token                     string
	offer                     market.Offer
	let                       rental.Rental
	payday                    time.Time
}

// end stops what the story started, whatever happened.
func (s *story) end() {
	if s.host != nil {
		s.host.Leave()
	}
	if s.quit != nil {
		s.quit()
		if err := <-s.ended; err != nil {
			fmt.Fprintln(s.Out, "FAIL the platform did not stop cleanly:", err)
		}
	}
	if s.mails != nil {
		_ = s.mails.Close()
	}
}

func (s *story) platform(ctx context.Context) (said string, err error) {
	if s.mails, err = mailtest.Listen("127.0.0.1:0"); err != nil {
		return "", err
	}
	cfg := controlplane.Default()
	cfg.DataDir, cfg.Listen, cfg.BusListen = filepath.Join(s.dir, "data"), "127.0.0.1:0", "127.0.0.1:0"
	cfg.SMTP = "smtp://" + s.mails.Addr() + "?tls=none&from=gpunex@demo.example"
	cfg.Dev = true
	cfg.HeartbeatInterval, cfg.Unreachable, cfg.SettleEvery = time.Second, 5*time.Second, 2*time.Second
	cfg.PayoutMinimum = 1
	cfg.Log = textLog(s.Log)
	if s.p, err = controlplane.New(ctx, cfg); err != nil {
		return "", err
	}
	run, quit := context.WithCancel(ctx)
	s.quit, s.ended = quit, make(chan error, 1)
	go func() { s.ended <- s.p.Run(run) }()
	return "PostgreSQL, NATS, SMTP and pages are up at " + s.p.URL, nil
}

func (s *story) people(ctx context.Context) (said string, err error) {
	if s.operator, err = s.p.Accounts.MakeOperator(ctx, time.Now(), operatorPerson); err != nil {
		return "", err
	}
	if s.owner, err = signUp(ctx, s.p.Accounts, providerPerson); err != nil {
		return "", err
	}
	if s.customer, err = signUp(ctx, s.p.Accounts, customerPerson); err != nil {
		return "", err
	}
	return "an operator, a provider-to-be and a customer signed up", nil
}

func (s *story) apply(ctx context.Context) (said string, err error) {
	if _, err = s.p.Providers.Open(ctx, time.Now(), s.owner); err != nil {
		return "", err
	}
	if s.application, err = s.p.Providers.Submit(ctx, time.Now(), s.owner, form(providerPerson, "h100-sxm", "1")); err != nil {
		return "", err
	}
	if s.application.DueAt == nil {
		return "", errors.New("the application has no due date")
	}
	return "1 × H100 SXM applied for; decision due " + s.application.DueAt.UTC().Format(time.DateOnly), nil
}

var tokenPattern = regexp.MustCompile(`gpx_[A-Za-z0-9]+`)

func (s *story) approve(ctx context.Context) (string, error) {
	err := s.p.Providers.Approve(ctx, time.Now(), s.operator, s.application.ID,
		provider.Approval{Tier: provider.Enterprise, Models: []string{"h100-sxm"}, MaxHosts: 1})
	if err != nil {
		return "", err
	}
	wait, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	m, err := s.mails.Wait(wait, func(m mailtest.Message) bool {
		return strings.Contains(m.To, providerPerson.Email) && tokenPattern.MatchString(m.Body)
	})
	if err != nil {
		return "", fmt.Errorf("the approval mail with a token didn't come: %w", err)
	}
	s.token = tokenPattern.FindString(m.Body)
	return "Enterprise; mailed by SMTP with the install command and a token: " + m.Subject, nil
}

func (s *story) install(ctx context.Context) (string, error) {
	s.host = &Host{
		Agent: s.Agent, Dir: filepath.Join(s.dir, "host"), Name: "demo-host", Profile: "h100-sxmx1",
		Platform: s.p.URL, Token: s.token, Docker: true, Log: s.Log,
	}
	if err := s.host.Start(); err != nil {
		return "", err
	}
	var id, engine string
	err := await(ctx, "host online", 30*time.Second, func() (bool, error) {
		hosts, err := s.p.Fleet.Hosts(ctx, s.owner.Account.ID)
		if err != nil || len(hosts) == 0 || !hosts[0].Online || hosts[0].Hardware == nil {
			return false, err
		}
		id, engine = hosts[0].ID, hosts[0].Hardware.Runtime+" "+hosts[0].Hardware.RuntimeVersion
		return true, nil
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s enrolled with the token and is online (%s; its GPU is simulated)", id, engine), nil
}

func (s *story) benchmark(ctx context.Context) (string, error) {
	var said string
	err := await(ctx, "benchmark passed", 60*time.Second, func() (bool, error) {
		list, err := s.p.Market.Listings(ctx, time.Now(), s.owner.Account.ID)
		if err != nil || len(list) == 0 {
			return false, err
		}
		v, err := s.p.Benchmarks.Verdicts(ctx, []string{list[0].GPUID})
		if err != nil || len(v) == 0 {
			return false, err
		}
		got := v[list[0].GPUID]
		if !got.Passed || !got.ProofOK {
			return false, fmt.Errorf("the GPU failed its benchmark: %+v", got.Failures)
		}
		said = fmt.Sprintf("score %d, health %.2f; proof of GPU computed on the host and verified (figures simulated)", got.Score, got.Health)
		return true, nil
	})
	return said, err
}

func (s *story) price(ctx context.Context) (string, error) {
	rate, err := s.p.Market.SetPrice(ctx, time.Now(), s.owner, "h100-sxm", "2,19")
	if err != nil {
		return "", err
	}
	offers, err := s.p.Market.Search(ctx, time.Now(), market.Search{Model: "h100-sxm"})
	if err != nil {
		return "", err
	}
	if len(offers) != 1 || offers[0].Free != 1 || offers[0].Micro != rate {
		return "", fmt.Errorf("the market should show one GPU at %s USDC, it shows %+v", rate, offers)
	}
	s.offer = offers[0]
	return fmt.Sprintf("%s USDC per GPU-hour; the market lists it", rate), nil
}

func (s *story) funds(ctx context.Context) (string, error) {
	q, err := s.p.Market.Quote(ctx, time.Now(), s.customer, s.offer.HostID, s.offer.Model, 1)
	if err != nil {
		return "", err
	}
	_, err = s.p.Rentals.Start(ctx, time.Now(), s.customer, rental.Order{QuoteID: q.ID, IdemKey: "poor", Image: s.Image})
	refused, ok := fault.As(err)
	if !ok || refused.Kind != fault.Funds {
		return "", fmt.Errorf("a customer without money must be told so, got %w", err)
	}
	const amount = 25 * money.USDC
	if err := s.p.Ledger.GiveTestFunds(ctx, time.Now(), "demo", s.customer.Account.ID, s.operator.Person.ID, amount); err != nil {
		return "", err
	}
	return fmt.Sprintf("without money: %q; then %s USDC test money posted by the operator", refused.Error(), amount), nil
}

func (s *story) rent(ctx context.Context) (said string, err error) {
	q, err := s.p.Market.Quote(ctx, time.Now(), s.customer, s.offer.HostID, s.offer.Model, 1)
	if err != nil {
		return "", err
	}
	order := rental.Order{QuoteID: q.ID, IdemKey: "demo-rental", Image: s.Image}
	at := time.Now()
	if s.let, err = s.p.Rentals.Start(ctx, at, s.customer, order); err != nil {
		return "", err
	}
	again, err := s.p.Rentals.Start(ctx, time.Now(), s.customer, order)
	if err != nil || again.ID != s.let.ID {
		return "", fmt.Errorf("a second click must give the same rental %s: got %s, %w", s.let.ID, again.ID, err)
	}
	if err := s.reach(ctx, rental.Running); err != nil {
		return "", err
	}
	held, err := s.p.Ledger.Held(ctx, s.p.DB, s.customer.Account.ID)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s runs in a real container %.0f ms after the click; %s USDC held for the first hour", s.let.ID, float64(time.Since(at).Microseconds())/1000, held), nil
}

// reach waits for a state of the rental.
func (s *story) reach(ctx context.Context, want rental.State) error {
	return await(ctx, "rental "+string(want), 60*time.Second, func() (ok bool, err error) {
		s.let, err = s.p.Rentals.Get(ctx, s.customer, s.let.ID)
		if err == nil && s.let.State == rental.Ended && want != rental.Ended {
			err = fmt.Errorf("it ended: %s (%s)", s.let.EndReason, s.let.Message)
		}
		return s.let.State == want, err
	})
}

func (s *story) twice(ctx context.Context) (string, error) {
	_, err := s.p.Market.Quote(ctx, time.Now(), s.customer, s.offer.HostID, s.offer.Model, 1)
	if err == nil {
		return "", errors.New("a GPU that is let was offered again")
	}
	return "the GPU can't be let twice: " + err.Error(), nil
}

func (s *story) logs(ctx context.Context) (said string, err error) {
	err = await(ctx, "log lines", 30*time.Second, func() (bool, error) {
		lines, err := s.p.Rentals.Logs(ctx, s.let.ID, -1, 10)
		if len(lines) > 1 {
			said = fmt.Sprintf("%d lines so far, the first: %q", len(lines), lines[0].Text)
		}
		return len(lines) > 1, err
	})
	return said, err
}

func (s *story) earn(ctx context.Context) (said string, err error) {
	var first money.Micro
	err = await(ctx, "earnings grow and are settled", 30*time.Second, func() (bool, error) {
		e, err := s.p.Rentals.Earnings(ctx, time.Now(), s.owner.Account.ID)
		if err != nil {
			return false, err
		}
		if first == 0 {
			first = e.Week
		}
		said = fmt.Sprintf("live earnings grew from %s to %s USDC, of which %s are in the books", first, e.Week, e.Earned)
		return first > 0 && e.Week > first && e.Earned > 0, nil
	})
	return said, err
}

func (s *story) stop(ctx context.Context) (string, error) {
	if _, err := s.p.Rentals.Stop(ctx, time.Now(), s.customer, s.let.ID); err != nil {
		return "", err
	}
	if _, err := s.p.Rentals.Stop(ctx, time.Now(), s.customer, s.let.ID); err != nil {
		return "", fmt.Errorf("stopping twice must be harmless: %w", err)
	}
	if err := s.reach(ctx, rental.Ended); err != nil {
		return "", err
	}
	want, err := money.Charge(s.let.Micro, s.let.GPUs, s.let.BilledMS)
	if err != nil || s.let.Charged != want {
		return "", fmt.Errorf("%d ms at %s USDC must cost %s, charged %s, %w", s.let.BilledMS, s.let.Micro, want, s.let.Charged, err)
	}
	return fmt.Sprintf("%s: %.3f s × %s USDC/h = %s USDC, of which provider %s and fee %s",
		s.let.EndReason, float64(s.let.BilledMS)/1000, s.let.Micro, s.let.Charged, s.let.Charged-s.let.Fee, s.let.Fee), nil
}

func (s *story) books(ctx context.Context) (string, error) {
	a, err := s.p.Ledger.Audit(ctx)
	if err != nil {
		return "", err
	}
	if !a.OK() {
		return "", fmt.Errorf("the books are not in order: %+v", a)
	}
	left, err := s.p.Ledger.Balance(ctx, s.p.DB, ledger.Available(s.customer.Account.ID))
	if err != nil {
		return "", err
	}
	if left+s.let.Charged != 25*money.USDC {
		return "", fmt.Errorf("the customer has %s left after %s of 25 USDC", left, s.let.Charged)
	}
	return fmt.Sprintf("%d transactions, %d entries, sum 0; the customer has %s USDC left", a.Transactions, a.Entries, left), nil
}

func (s *story) pay(ctx context.Context) (string, error) {
	now := time.Now().UTC()
	monday := now.AddDate(0, 0, 7-int(now.Weekday()+6)%7)
	s.payday = time.Date(monday.Year(), monday.Month(), monday.Day(), 6, 0, 0, 0, time.UTC).AddDate(0, 0, 7)
	sum, err := s.p.Pay(ctx, s.payday)
	if err != nil {
		return "", err
	}
	if want := s.let.Charged - s.let.Fee; sum.Paid != 1 || sum.Micro != want {
		return "", fmt.Errorf("one payout of %s USDC was due, got %+v", want, sum)
	}
	list, err := s.p.Payouts.Of(ctx, s.owner.Account.ID, 10)
	if err != nil || len(list) != 1 {
		return "", fmt.Errorf("payout history: %v, %w", list, err)
	}
	return fmt.Sprintf("on %s: %s USDC %s by the %s rail, reference %s", s.payday.Format("Mon 2006-01-02"), list[0].Micro, list[0].State, list[0].Rail, list[0].Reference), nil
}

func (s *story) payAgain(ctx context.Context) (string, error) {
	sum, err := s.p.Pay(ctx, s.payday.Add(time.Hour))
	if err != nil {
		return "", err
	}
	a, err := s.p.Ledger.Audit(ctx)
	if err != nil || !a.OK() {
		return "", fmt.Errorf("the books are not in order: %+v, %w", a, err)
	}
	if sum.Planned != 0 || sum.Micro != 0 {
		return "", fmt.Errorf("a second run paid again: %+v", sum)
	}
	return "a second run pays nothing; the books balance", nil
}
