package rental

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/db/dbtest"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/id"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/market"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/protocol"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

const (
	rate   = 2*money.USDC + 190_000
	feeBPS = 1000
)

// world is a platform with one provider and its hosts, whose clock the test turns.
type world struct {
	*Service
	t      testing.TB
	d      *db.DB
	m      *market.Service
	f      *fleet.Service
	l      *ledger.Ledger
	now    time.Time
	owner  account.Identity
	host   string
	mu     sync.Mutex
	hinted int
}

func newWorld(t testing.TB, gpus int) *world {
	t.Helper()
	w := &world{t: t, d: dbtest.New(t), now: noon}
	w.f = fleet.New(w.d, fleet.Config{TokenTTL: time.Hour, Interval: 10 * time.Second, Unreachable: 30 * time.Second})
	w.m = market.New(w.d, market.Config{QuoteTTL: 2 * time.Minute, FeeBPS: feeBPS})
	w.l = ledger.New(w.d)
	w.restart()
	w.owner = w.person("owner")
	p := w.owner.Account.ID
	w.exec(`INSERT INTO provider VALUES ($1, 'community', 'active', '{h100-sxm}', 10, 0, 'Lisboa', 'PT', 'Europe', $2)`, p, noon)
	w.exec(`INSERT INTO price VALUES ($1, 'h100-sxm', $2, $3)`, p, rate, noon)
	w.exec(`INSERT INTO enrolment_token VALUES ($1, $2, '\x01', 'abcd', $3, $3, NULL, 10, 1)`, "tok_1", p, noon)
	w.host = w.newHost(gpus)
	t.Cleanup(w.books)
	return w
}

// restart makes the service anew, as after a crash.
func (w *world) restart() {
	w.Service = New(w.d, w.m, w.f, w.l, func(string) { w.mu.Lock(); w.hinted++; w.mu.Unlock() }, Config{
		Hold: time.Hour, SettleEvery: 5 * time.Minute, Unreachable: 30 * time.Second, Lost: 10 * time.Minute,
		StartLimit: 30 * time.Minute, StopMargin: 30 * time.Second, Maturity: 24 * time.Hour,
	})
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.d.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) newHost(gpus int) string {
	w.t.Helper()
	host := id.New(id.Host)
	hw := protocol.Hardware{Simulated: true, CPUs: 64, RAMMiB: 512_000, DiskMiB: 2_000_000, Runtime: "simulated", Isolation: []string{"runc"}}
	for i := range gpus {
		hw.GPUs = append(hw.GPUs, protocol.GPU{UUID: fmt.Sprintf("GPU-%s-%d", host, i), Model: "h100-sxm", VRAMMiB: 81559})
	}
	w.exec(`INSERT INTO host (id, provider_id, token_id, name, public_key, agent_version, protocol, hardware, simulated, city, country, region, online, last_seen, enrolled_at)
		VALUES ($1, $2, 'tok_1', 'h', $1, '1', 1, $3, true, 'Lisboa', 'PT', 'Europe', true, $4, $4)`, host, w.owner.Account.ID, hw, w.now)
	run := id.New(id.Run)
	w.exec(`INSERT INTO benchmark_run (id, host_id, reason, state, seed, size, rounds, requested_at) VALUES ($1, $2, 'connected', 'passed', 1, 1, 1, $3)`, run, host, w.now)
	for i, g := range hw.GPUs {
		gpu := id.New(id.GPU)
		w.exec(`INSERT INTO gpu (id, host_id, uuid, position, model, vram_mib, detail, present, first_seen) VALUES ($1, $2, $3, $4, $5, $6, $7, true, $8)`,
			gpu, host, g.UUID, i, g.Model, g.VRAMMiB, g, w.now)
		w.exec(`INSERT INTO benchmark_result VALUES ($1, $2, '{}', 1000, 1.0, true, true, '[]', $3)`, run, gpu, w.now)
	}
	return host
}

func (w *world) person(name string) account.Identity {
	w.t.Helper()
	who := account.Identity{Person: account.Person{ID: id.New(id.Person)}, Account: account.Account{ID: id.New(id.Account)}, Role: "owner"}
	w.exec(`INSERT INTO person VALUES ($1, $1 || '@example.org', $2, 'x', 'en', $3)`, who.Person.ID, name, noon)
	w.exec(`INSERT INTO account VALUES ($1, $2, false, $3)`, who.Account.ID, name, noon)
	return who
}

func (w *world) customer(funds money.Micro) account.Identity {
	w.t.Helper()
	who := w.person("customer")
	if funds > 0 {
		if err := w.l.GiveTestFunds(context.Background(), noon, who.Account.ID, who.Account.ID, "test", funds); err != nil {
			w.t.Fatal(err)
		}
	}
	return who
}

func (w *world) quote(who account.Identity, gpus int) string {
	w.t.Helper()
	q, err := w.m.Quote(context.Background(), w.now, who, w.host, "h100-sxm", gpus)
	if err != nil {
		w.t.Fatal(err)
	}
	return q.ID
}

func (w *world) rent(who account.Identity, gpus int, change ...func(*Order)) Rental {
	w.t.Helper()
	q := w.quote(who, gpus)
	o := Order{QuoteID: q, IdemKey: q, Image: "ubuntu:24.04"}
	for _, f := range change {
		f(&o)
	}
	r, err := w.Start(context.Background(), w.now, who, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// beat is a heartbeat of the host, now.
func (w *world) beat(statuses ...protocol.Status) error {
	ctx := context.Background()
	revision, err := db.Value[int64](ctx, w.d, `SELECT desired_revision FROM host WHERE id = $1`, w.host)
	if err != nil {
		return err
	}
	hb := protocol.Heartbeat{HostTime: w.now, Applied: revision, Complete: true, Workloads: statuses}
	if _, err := w.f.RecordHeartbeat(ctx, w.now, w.host, hb); err != nil {
		return err
	}
	return w.Observe(ctx, w.now, w.host, hb)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func is(r Rental, p protocol.Phase) protocol.Status { return protocol.Status{Rental: r.ID, Phase: p} }

// run lets time pass, with a heartbeat that says running every ten seconds and a sweep after it.
func (w *world) run(r Rental, d time.Duration) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(min(10*time.Second, end.Sub(w.now)))
		w.must(w.beat(is(r, protocol.PhaseRunning)))
		w.must(w.Sweep(context.Background(), w.now))
	}
}

func (w *world) get(r Rental) Rental {
	w.t.Helper()
	rec, err := rentalByID(context.Background(), w.d, r.ID)
	w.must(err)
	return rec.Rental
}

func (w *world) balance(a ledger.Account) money.Micro {
	w.t.Helper()
	b, err := w.l.Balance(context.Background(), w.d, a)
	w.must(err)
	return b
}

// books checks what must hold at any moment.
func (w *world) books() {
	ctx := context.Background()
	a, err := w.l.Audit(ctx)
	if err != nil || !a.OK() {
		w.t.Errorf("the books are not in order: %+v, %v", a, err)
	}
	list, err := db.All[record](ctx, w.d, sqlColumns+"ORDER BY r.id")
	if err != nil {
		w.t.Error(err)
	}
	for _, r := range list {
		type sums struct {
			Charge, Earned, Fee money.Micro
			MS                  int64 `db:"ms"`
		}
		got, err := db.One[sums](ctx, w.d, `SELECT coalesce(sum(charge),0)::bigint AS charge, coalesce(sum(earned),0)::bigint AS earned,
			coalesce(sum(fee),0)::bigint AS fee, coalesce(sum(to_ms-from_ms),0)::bigint AS ms FROM settlement WHERE rental_id = $1`, r.ID)
		if err != nil || got.Charge != r.Charged || got.Fee != r.Fee || got.Earned+got.Fee != got.Charge || got.MS != r.SettledMS {
			w.t.Errorf("settlements of %s: %+v, %v; the rental has %d, %d, %d ms", r.ID, got, err, r.Charged, r.Fee, r.SettledMS)
		}
		if want, err := money.Charge(r.Micro, r.GPUs, r.SettledMS); err != nil || r.Charged != want {
			w.t.Errorf("%s: charged %d for %d ms, want %d, %v", r.ID, r.Charged, r.SettledMS, want, err)
		}
		if wall := w.now.Sub(r.RequestedAt).Milliseconds(); r.BilledMS > wall {
			w.t.Errorf("%s: billed %d of %d ms", r.ID, r.BilledMS, wall)
		}
		if r.State != Ended {
			continue
		}
		if r.BilledMS != r.SettledMS {
			w.t.Errorf("%s ended with %d ms billed and %d settled", r.ID, r.BilledMS, r.SettledMS)
		}
		if held := w.balance(ledger.Hold(r.CustomerID, r.ID)); held != 0 {
			w.t.Errorf("%s ended and holds %d", r.ID, held)
		}
		if n, err := db.Value[int](ctx, w.d, `SELECT count(*) FROM claim WHERE rental_id = $1 AND (upper_inf(during) OR isempty(during))`, r.ID); err != nil || n != 0 {
			w.t.Errorf("%s ended with %d claims open or empty, %v", r.ID, n, err)
		}
	}
}
