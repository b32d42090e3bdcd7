package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/agentlink"
	"github.com/gpunex/gpunex/internal/benchmark"
	"github.com/gpunex/gpunex/internal/bus"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/mail"
	"github.com/gpunex/gpunex/internal/market"
	"github.com/gpunex/gpunex/internal/notice"
	"github.com/gpunex/gpunex/internal/payout"
	"github.com/gpunex/gpunex/internal/payout/rail/simulated"
	"github.com/gpunex/gpunex/internal/provider"
	"github.com/gpunex/gpunex/internal/rental"
	"github.com/gpunex/gpunex/internal/web"
	"github.com/gpunex/gpunex/internal/worker"
)

// Services are the domain, on one database.
type Services struct {
	DB         *db.DB
	Accounts   *account.Service
	Notices    *notice.Service
	Providers  *provider.Service
	Fleet      *fleet.Service
	Benchmarks *benchmark.Service
	Market     *market.Service
	Rentals    *rental.Service
	Ledger     *ledger.Ledger
	Payouts    *payout.Service
}

// NewServices makes the domain's services. Mails stay in the outbox when sender is nil; hint may be nil.
func NewServices(cfg Config, d *db.DB, sender mail.Sender, hint rental.Hint) *Services {
	s := &Services{DB: d}
	s.Accounts = account.New(d)
	s.Notices = notice.New(d, sender, cfg.PublicURL)
	s.Fleet = fleet.New(d, fleet.Config{TokenTTL: cfg.TokenTTL, Interval: cfg.HeartbeatInterval, Unreachable: cfg.Unreachable})
	s.Providers = provider.New(d, s.Accounts, s.Notices, s.Fleet, cfg.PublicURL)
	s.Benchmarks = benchmark.New(d, s.Fleet, s.Notices, benchmark.Config{Every: cfg.BenchmarkEvery, Size: cfg.BenchmarkSize, Rounds: 2, Rows: 8})
	s.Market = market.New(d, market.Config{QuoteTTL: cfg.QuoteTTL, FeeBPS: cfg.FeeBPS})
	s.Ledger = ledger.New(d)
	if hint == nil {
		hint = func(string) {}
	}
	s.Rentals = rental.New(d, s.Market, s.Fleet, s.Ledger, hint, rental.Config{
		Hold: time.Hour, SettleEvery: cfg.SettleEvery, Unreachable: cfg.Unreachable, Lost: cfg.Lost,
		StartLimit: 30 * time.Minute, StopMargin: 30 * time.Second, Maturity: cfg.Maturity,
	})
	s.Payouts = payout.New(d, s.Ledger, s.Notices, []payout.Rail{simulated.New(d)}, payout.Config{Minimum: cfg.PayoutMinimum})
	return s
}

// Tasks is everything that happens by the clock.
func (s *Services) Tasks() []worker.Task {
	return []worker.Task{
		{Name: "fleet.sweep", Every: 5 * time.Second, Run: pass(s.Fleet.Sweep)},
		{Name: "rental.sweep", Every: 5 * time.Second, Run: s.Rentals.Sweep},
		{Name: "notice.deliver", Every: 2 * time.Second, Run: pass(s.Notices.Deliver)},
		{Name: "account.forget_sessions", Every: time.Hour, Run: pass(s.Accounts.ForgetSessions)},
		{Name: "rental.mature", Every: 10 * time.Minute, Run: pass(s.Rentals.Mature)},
		{Name: "benchmark.due", Every: time.Minute, Run: pass(s.Benchmarks.Due)},
		{Name: "payout.run", Every: time.Hour, Run: pass(s.Pay)},
	}
}

// pass is one pass of a task that also tells what it did.
func pass[T any](run func(context.Context, time.Time) (T, error)) func(context.Context, time.Time) error {
	return func(ctx context.Context, now time.Time) error {
		_, err := run(ctx, now)
		return err
	}
}

// Pay makes payable what is old enough, then runs the payouts of the newest period that has ended.
func (s *Services) Pay(ctx context.Context, now time.Time) (payout.Summary, error) {
	if _, err := s.Rentals.Mature(ctx, now); err != nil {
		return payout.Summary{}, err
	}
	return s.Payouts.Run(ctx, now)
}

// Platform is one running control plane.
type Platform struct {
	*Services
	URL string // where its pages are

	cfg      Config
	database *database
	bus      *bus.Bus
	link     *agentlink.Link
	server   *http.Server
	listener net.Listener
}

// open connects to the database of cfg, the built-in one or any by URL, and migrates it.
func open(ctx context.Context, cfg Config) (d *db.DB, pg *database, err error) {
	url := cfg.DatabaseURL
	if url == "" {
		if pg, err = startDatabase(ctx, cfg.DataDir, cfg.Log); err != nil {
			return nil, nil, err
		}
		url = pg.url()
	}
	if d, err = db.Open(ctx, url, 40); err == nil {
		if err = d.Migrate(ctx); err == nil {
			return d, pg, nil
		}
		d.Close()
	}
	if pg != nil {
		err = errors.Join(err, pg.stop())
	}
	return nil, nil, err
}

// Admin gives the services to a command, beside a running platform or without one. done ends what it started.
func Admin(ctx context.Context, cfg Config) (s *Services, done func() error, err error) {
	if err := cfg.Check(); err != nil {
		return nil, nil, err
	}
	d, pg, err := open(ctx, cfg)
	if errors.Is(err, errInUse) {
		url, rerr := savedURL(cfg.DataDir)
		if rerr != nil {
			return nil, nil, errors.Join(err, rerr)
		}
		d, err = db.Open(ctx, url, 8)
	}
	if err != nil {
		return nil, nil, err
	}
	return NewServices(cfg, d, nil, nil), func() error {
		d.Close()
		if pg == nil {
			return nil
		}
		return pg.stop()
	}, nil
}

// New builds the platform: when it returns, the database is migrated, the bus is up and the address is taken.
func New(ctx context.Context, cfg Config) (p *Platform, err error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	p = &Platform{cfg: cfg}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen); err != nil {
		return nil, fmt.Errorf("can't listen on %s (is another program using it? choose another with --listen): %w", cfg.Listen, err)
	}
	if cfg.PublicURL == "" {
		cfg.PublicURL = fmt.Sprintf("http://localhost:%d", p.listener.Addr().(*net.TCPAddr).Port)
	}
	p.URL = cfg.PublicURL
	d, pg, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	p.database = pg
	var sender mail.Sender
	if cfg.SMTP != "" {
		if sender, err = mail.NewSMTP(cfg.SMTP); err != nil {
			d.Close()
			return nil, err
		}
	}
	p.Services = NewServices(cfg, d, sender, func(host string) {
		if p.bus != nil {
			p.bus.Hint(host)
		}
	})
	if p.bus, err = bus.Start(ctx, bus.Config{Dir: filepath.Join(cfg.DataDir, "bus"), Listen: cfg.BusListen, URL: cfg.BusURL, Log: cfg.Log}); err != nil {
		return nil, err
	}
	p.link = agentlink.New(p.Fleet, p.Benchmarks, p.Rentals, p.bus, cfg.BusPublic, cfg.Log)
	handler := web.New(web.Config{
		Accounts: p.Accounts, Notices: p.Notices, Providers: p.Providers, Fleet: p.Fleet, Benchmarks: p.Benchmarks,
		Market: p.Market, Rentals: p.Rentals, Ledger: p.Ledger, Payouts: p.Payouts,
		DB: p.DB, BaseURL: cfg.PublicURL, Dev: cfg.Dev, Unreachable: cfg.Unreachable, Log: cfg.Log,
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", p.health)
	if slices.Contains(cfg.Roles, RoleLink) {
		p.link.Routes(mux)
	}
	if slices.Contains(cfg.Roles, RoleWeb) {
		mux.Handle("/", handler)
	}
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	return p, nil
}

// health answers 200 when the database does.
func (p *Platform) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if err := p.DB.Ping(ctx); err != nil {
		http.Error(w, "the database doesn't answer", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// Run serves until ctx ends, then stops cleanly: first the pages, then the workers and the bus, the database last.
func (p *Platform) Run(ctx context.Context) error {
	// The database outlives everything that uses it.
	dbCtx, stopDB := context.WithCancel(context.WithoutCancel(ctx))
	defer stopDB()
	dbDone := make(chan error, 1)
	g, ctx := errgroup.WithContext(ctx)
	if p.database != nil {
		go func() { dbDone <- p.database.run(dbCtx) }()
		g.Go(func() error { // without a database there is nothing to serve: end, and let the supervisor start anew
			select {
			case err := <-dbDone:
				dbDone <- nil
				return err
			case <-ctx.Done():
				return nil
			}
		})
	} else {
		dbDone <- nil
	}
	p.server.BaseContext = func(net.Listener) context.Context { return ctx } // ends the live streams
	g.Go(func() error {
		if err := p.server.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("pages: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return p.server.Shutdown(stop)
	})
	if slices.Contains(p.cfg.Roles, RoleLink) {
		g.Go(func() error { return p.link.Serve(ctx) })
	}
	if slices.Contains(p.cfg.Roles, RoleWorker) {
		g.Go(func() error { return worker.Run(ctx, p.DB, p.Tasks(), p.cfg.Log) })
	}
	err := g.Wait()
	p.bus.Close()
	p.DB.Close()
	stopDB()
	return errors.Join(err, <-dbDone)
}

// close ends what New had started before it failed.
func (p *Platform) close() error {
	if p.listener != nil {
		_ = p.listener.Close() // nothing was served yet
	}
	if p.bus != nil {
		p.bus.Close()
	}
	if p.Services != nil {
		p.DB.Close()
	}
	if p.database != nil {
		return p.database.stop()
	}
	return nil
}
