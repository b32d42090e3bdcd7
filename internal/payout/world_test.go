package payout_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/db/dbtest"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/notice"
	"github.com/gpunex/gpunex/internal/payout"
	"github.com/gpunex/gpunex/internal/payout/rail/simulated"
)

var monday = time.Date(2026, 12, 7, 0, 5, 0, 0, time.UTC)

const minimum = 50 * money.USDC

// world is a database with providers who have earned.
type world struct {
	t      testing.TB
	db     *db.DB
	ledger *ledger.Ledger
	mail   *notice.Service
	mu     sync.Mutex
	earned int
}

func newWorld(t testing.TB) *world {
	d := dbtest.New(t)
	return &world{t: t, db: d, ledger: ledger.New(d)}
}

// service makes a service as a process that has just started has it.
func (w *world) service(rails ...payout.Rail) *payout.Service {
	if len(rails) == 0 {
		rails = []payout.Rail{simulated.New(w.db)}
	}
	return payout.New(w.db, w.ledger, w.mail, rails, payout.Config{Minimum: minimum})
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

// provider makes an approved provider with an owner, to whom payable is owed.
func (w *world) provider(id string, payable money.Micro) {
	w.t.Helper()
	w.exec(`INSERT INTO account (id, name, created_at) VALUES ($1, 'Name of ' || $1, '2026-01-01')`, id)
	w.exec(`INSERT INTO person (id, email, name, password_hash, locale, created_at) VALUES ('prs_' || $1, $1 || '@example.com', 'Owner of ' || $1, '', 'en', '2026-01-01')`, id)
	w.exec(`INSERT INTO membership (account_id, person_id, role, created_at) VALUES ($1, 'prs_' || $1, 'owner', '2026-01-01')`, id)
	w.exec(`INSERT INTO provider (account_id, tier, status, models, max_hosts, commitment_months, city, country, region, approved_at)
		VALUES ($1, 'community', 'active', '{}', 1, 0, 'Lisbon', 'PT', 'eu', '2026-01-01')`, id)
	if payable > 0 {
		w.mature(id, payable)
	}
}

// mature makes an amount payable.
func (w *world) mature(provider string, amount money.Micro) {
	w.t.Helper()
	w.mu.Lock()
	w.earned++
	key := fmt.Sprint("mature ", w.earned)
	w.mu.Unlock()
	err := w.db.InTx(context.Background(), func(tx db.Tx) error {
		_, _, err := w.ledger.Post(context.Background(), tx, ledger.Posting{Key: key, Kind: "mature", Subject: provider, At: monday,
			Legs: []ledger.Leg{{Account: ledger.TestFunds(), Micro: -amount}, {Account: ledger.Payable(provider), Micro: amount}}})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) set(s *payout.Service, provider string, in payout.Setting) error {
	return s.Set(w.t.Context(), monday, account.Identity{Account: account.Account{ID: provider}}, in)
}

func (w *world) run(s *payout.Service, now time.Time) payout.Summary {
	w.t.Helper()
	sum, err := s.Run(w.t.Context(), now)
	if err != nil {
		w.t.Fatal(err)
	}
	return sum
}

func (w *world) balance(a ledger.Account) money.Micro {
	w.t.Helper()
	v, err := w.ledger.Balance(context.Background(), w.db, a)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w *world) sum(sql string) money.Micro {
	w.t.Helper()
	v, err := db.Value[money.Micro](context.Background(), w.db, sql)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// check proves that the outside, the payouts and the books tell the same story.
func (w *world) check() {
	w.t.Helper()
	a, err := w.ledger.Audit(context.Background())
	if err != nil || !a.OK() {
		w.t.Fatalf("audit: %+v, %v", a, err)
	}
	paid := w.sum(`SELECT coalesce(sum(micro), 0)::bigint FROM payout WHERE state = 'paid'`)
	open := w.sum(`SELECT coalesce(sum(micro), 0)::bigint FROM payout WHERE state IN ('planned', 'sending')`)
	transit := w.sum(`SELECT coalesce(sum(balance), 0)::bigint FROM ledger_account WHERE code LIKE 'provider:%:in_transit'`)
	if treasury := w.balance(ledger.Treasury()); treasury != paid || transit != open {
		w.t.Errorf("treasury %s and paid %s; in transit %s and open %s", treasury, paid, transit, open)
	}
}

// checkFinished is check, and that everything owed was moved exactly once.
func (w *world) checkFinished(want int, total money.Micro) {
	w.t.Helper()
	w.check()
	moved := w.sum(`SELECT coalesce(sum(micro), 0)::bigint FROM simulated_transfer`)
	paid := w.sum(`SELECT coalesce(sum(micro), 0)::bigint FROM payout WHERE state = 'paid'`)
	n := w.sum(`SELECT count(*) FROM payout p JOIN simulated_transfer s ON s.reference = p.reference AND s.micro = p.micro AND s.destination = p.destination WHERE p.state = 'paid'`)
	all := w.sum(`SELECT (SELECT count(*) FROM payout) + (SELECT count(*) FROM simulated_transfer)`)
	if int(n) != want || int(all) != 2*want || moved != total || paid != total {
		w.t.Errorf("moved %s, paid %s in %d payouts (%d rows in all); want %s in %d", moved, paid, n, all, total, want)
	}
}

var errRail = errors.New("rail: connection reset")

// flaky is a rail that fails before acting or loses the answer after, as often as told.
type flaky struct {
	payout.Rail
	mu            sync.Mutex
	before, after int // how many more times
	lookFails     int
}

func (f *flaky) take(n *int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	*n--
	return *n >= 0
}

func (f *flaky) Send(ctx context.Context, now time.Time, p payout.Payout) error {
	if f.take(&f.before) {
		return errRail
	}
	err := f.Rail.Send(ctx, now, p)
	if f.take(&f.after) {
		return errRail
	}
	return err
}

func (f *flaky) Look(ctx context.Context, reference string) (payout.Outcome, error) {
	if f.take(&f.lookFails) {
		return payout.Outcome{}, errRail
	}
	return f.Rail.Look(ctx, reference)
}
