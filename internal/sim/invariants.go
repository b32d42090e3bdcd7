package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/money"
)

// standing is what the database says of one rental, its claims, settlements and postings.
type standing struct {
	ID          string
	State       string
	CustomerID  string
	ProviderID  string
	GPUs        int
	Micro       money.Micro
	FeeBPS      int
	RequestedAt time.Time
	EndedAt     *time.Time
	EndReason   *string
	StopReason  *string
	StopAt      *time.Time
	MeteredAt   *time.Time
	BilledMS    int64
	Charged     money.Micro
	Fee         money.Micro
	MaxSpend    *money.Micro
	MaxMS       *int64

	Claims      int // all
	OpenClaims  int
	Strangers   int // claimed GPUs that aren't of this host and model
	Settlements int // as counted by the rental
	Parts       int // as there are
	Gaps        int // parts that don't begin where the one before ended
	ToMS        int64
	PartsCharge money.Micro
	PartsFee    money.Micro
	PartsEarned money.Micro
	Held        money.Micro
	Used        money.Micro // taken out of the hold by usage postings
	Message     string      // the host's newest words
}

const standingSQL = `
SELECT r.id, r.state, r.customer_id, r.provider_id, r.gpus, r.micro, r.fee_bps, r.requested_at, r.ended_at, r.end_reason, r.stop_reason, r.stop_at,
       r.metered_at, r.billed_ms, r.charged, r.fee, r.max_spend, r.max_ms, r.settlements, r.message,
       coalesce(c.claims, 0) AS claims, coalesce(c.open, 0) AS open_claims, coalesce(c.strangers, 0) AS strangers,
       coalesce(s.parts, 0) AS parts, coalesce(s.gaps, 0) AS gaps, coalesce(s.to_ms, 0) AS to_ms,
       coalesce(s.charge, 0) AS parts_charge, coalesce(s.fee, 0) AS parts_fee, coalesce(s.earned, 0) AS parts_earned,
       coalesce(h.held, 0) AS held, coalesce(u.used, 0) AS used
  FROM rental r
  LEFT JOIN (SELECT c.rental_id, count(*) AS claims, count(*) FILTER (WHERE upper_inf(c.during)) AS open,
                    count(*) FILTER (WHERE g.host_id <> x.host_id OR g.model <> x.model) AS strangers
               FROM claim c JOIN gpu g ON g.id = c.gpu_id JOIN rental x ON x.id = c.rental_id GROUP BY c.rental_id) c ON c.rental_id = r.id
  LEFT JOIN (SELECT rental_id, count(*) AS parts, count(*) FILTER (WHERE from_ms <> before) AS gaps, max(to_ms) AS to_ms,
                    sum(charge)::bigint AS charge, sum(fee)::bigint AS fee, sum(earned)::bigint AS earned
               FROM (SELECT *, coalesce(lag(to_ms) OVER (PARTITION BY rental_id ORDER BY n), 0) AS before FROM settlement) p
              GROUP BY rental_id) s ON s.rental_id = r.id
  LEFT JOIN (SELECT code, balance AS held FROM ledger_account) h ON h.code = 'hold:' || r.id
  LEFT JOIN (SELECT e.account, -sum(e.micro)::bigint AS used FROM ledger_entry e JOIN ledger_txn t ON t.id = e.txn_id
              WHERE t.kind = 'usage' GROUP BY e.account) u ON u.account = 'hold:' || r.id
 ORDER BY r.requested_at, r.id`

// Check proves every invariant, at any moment.
func (w *World) Check(ctx context.Context) error {
	a, err := w.p.Ledger.Audit(ctx)
	if err != nil {
		return err
	}
	if !a.OK() {
		return fmt.Errorf("books: sum %s, unbalanced %d, drifted %v, below floor %v", a.Sum, len(a.Unbalanced), a.Drifted, a.BelowFloor)
	}
	return w.check(ctx, w.db)
}

// check is Check without the ledger's own audit, which reads by itself.
func (w *World) check(ctx context.Context, q db.Querier) error {
	all, err := db.All[standing](ctx, q, standingSQL)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range all {
		if err := errors.Join(w.checkClaims(s), w.checkSums(s), w.checkTime(s), w.checkPast(s)); err != nil {
			errs = append(errs, fmt.Errorf("%s (%s): %w", w.name(s.ID), s.State, err))
		}
		w.past[s.ID] = s
	}
	if len(all) != len(w.rentals) {
		errs = append(errs, fmt.Errorf("rentals: %d were accepted, there are %d", len(w.rentals), len(all)))
	}
	errs = append(errs, w.checkOverlaps(ctx, q), w.checkCustomers(ctx, q), w.checkProviders(ctx, q))
	return errors.Join(errs...)
}

func (w *World) name(rental string) string {
	if n, ok := w.names[rental]; ok {
		return n
	}
	return rental
}

// checkClaims: a rental that isn't ended has exactly its GPUs, one that is has none.
func (w *World) checkClaims(s standing) error {
	want := s.GPUs
	if s.State == "ended" {
		want = 0
	}
	if s.OpenClaims != want || s.Claims != s.GPUs || s.Strangers != 0 {
		return fmt.Errorf("claims: %d open of %d, %d of another host or model; it has %d GPUs", s.OpenClaims, s.Claims, s.Strangers, s.GPUs)
	}
	if strings.Contains(s.Message, "is in use by rental") {
		return fmt.Errorf("claims: its GPUs were in use: %s", s.Message)
	}
	return nil
}

// checkSums: what is charged is what the settled time costs, in contiguous parts, and provider and fee share it.
func (w *World) checkSums(s standing) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("money: "+format, args...)) }
	charge, err := money.Charge(s.Micro, s.GPUs, s.ToMS)
	if err != nil {
		return err
	}
	fee, err := money.Fee(s.Charged, s.FeeBPS)
	if err != nil {
		return err
	}
	if s.Charged != charge {
		bad("charged %s, but %d ms cost %s", s.Charged, s.ToMS, charge)
	}
	if s.Charged != s.PartsCharge || s.Fee != s.PartsFee || s.Charged != s.PartsEarned+s.PartsFee {
		bad("charged %s with fee %s, but the settlements sum to %s, fee %s, earned %s", s.Charged, s.Fee, s.PartsCharge, s.PartsFee, s.PartsEarned)
	}
	if s.Fee != fee {
		bad("fee %s of %s, want %s", s.Fee, s.Charged, fee)
	}
	if s.Charged != s.Used {
		bad("charged %s, but %s was taken from the hold", s.Charged, s.Used)
	}
	if s.Gaps != 0 || s.Parts != s.Settlements {
		bad("%d settlements, the rental counts %d, %d don't follow the one before", s.Parts, s.Settlements, s.Gaps)
	}
	if s.ToMS > s.BilledMS {
		bad("%d ms are settled of %d metered", s.ToMS, s.BilledMS)
	}
	if s.MaxSpend != nil && s.Charged > *s.MaxSpend {
		bad("charged %s of at most %s", s.Charged, *s.MaxSpend)
	}
	if s.MaxMS != nil && s.BilledMS > *s.MaxMS {
		bad("billed %d ms of at most %d", s.BilledMS, *s.MaxMS)
	}
	if s.State == "ended" {
		if s.ToMS != s.BilledMS {
			bad("it has ended with %d ms metered and %d settled", s.BilledMS, s.ToMS)
		}
		if s.Held != 0 {
			bad("it has ended and still holds %s", s.Held)
		}
	}
	return errors.Join(errs...)
}

// checkPast: what was metered, charged or ended stays so.
func (w *World) checkPast(s standing) error {
	old, ok := w.past[s.ID]
	switch {
	case !ok:
		return nil
	case s.BilledMS < old.BilledMS || s.Charged < old.Charged || s.Parts < old.Parts:
		return fmt.Errorf("past: billed %d → %d ms, charged %s → %s, settlements %d → %d", old.BilledMS, s.BilledMS, old.Charged, s.Charged, old.Parts, s.Parts)
	case old.State == "ended" && (s.State != "ended" || s.BilledMS != old.BilledMS || s.Charged != old.Charged || *s.EndReason != *old.EndReason || !s.EndedAt.Equal(*old.EndedAt)):
		return fmt.Errorf("past: it had ended and changed: %+v → %+v", old, s)
	case s.Micro != old.Micro || s.GPUs != old.GPUs || s.FeeBPS != old.FeeBPS:
		return fmt.Errorf("past: its terms changed: %+v → %+v", old, s)
	}
	return nil
}

// checkOverlaps: no GPU is let to two at once.
func (w *World) checkOverlaps(ctx context.Context, q db.Querier) error {
	n, err := db.Value[int](ctx, q, `SELECT count(*) FROM claim a JOIN claim b ON a.gpu_id = b.gpu_id AND a.rental_id < b.rental_id AND a.during && b.during`)
	if err == nil && n > 0 {
		err = fmt.Errorf("overlap: %d pairs of claims on one GPU at once", n)
	}
	return err
}

// checkCustomers: every customer has what they were given, less what they were charged.
func (w *World) checkCustomers(ctx context.Context, q db.Querier) error {
	type row struct {
		Available, Held, Charged money.Micro
	}
	var errs []error
	for _, b := range w.customers {
		r, err := db.One[row](ctx, q, `
SELECT coalesce((SELECT balance FROM ledger_account WHERE code = 'customer:' || $1 || ':available'), 0) AS available,
       coalesce((SELECT sum(balance)::bigint FROM ledger_account WHERE owner = $1 AND code LIKE 'hold:%'), 0) AS held,
       coalesce((SELECT sum(charged)::bigint FROM rental WHERE customer_id = $1), 0) AS charged`, b.who.Account.ID)
		if err != nil {
			return err
		}
		if r.Available+r.Held+r.Charged != b.funded || r.Available < 0 || r.Held < 0 {
			errs = append(errs, fmt.Errorf("customer %s: available %s + held %s + charged %s isn't the %s given", b.name, r.Available, r.Held, r.Charged, b.funded))
		}
	}
	return errors.Join(errs...)
}

// checkProviders: every provider has, or was paid, what its rentals earned; the fees are the platform's; what the rail
// moved is what the books say was paid.
func (w *World) checkProviders(ctx context.Context, q db.Querier) error {
	type row struct {
		Balance, Paid, Settled, Moved, Unpaid, Transit money.Micro
	}
	var errs []error
	for _, s := range w.providers {
		r, err := db.One[row](ctx, q, `
SELECT coalesce((SELECT sum(balance)::bigint FROM ledger_account WHERE owner = $1 AND code LIKE 'provider:%'), 0) AS balance,
       coalesce((SELECT balance FROM ledger_account WHERE code = 'provider:' || $1 || ':in_transit'), 0) AS transit,
       coalesce((SELECT sum(micro)::bigint FROM payout WHERE provider_id = $1 AND state = 'paid'), 0) AS paid,
       coalesce((SELECT sum(micro)::bigint FROM payout WHERE provider_id = $1 AND state IN ('planned', 'sending')), 0) AS unpaid,
       coalesce((SELECT sum(earned)::bigint FROM settlement WHERE provider_id = $1), 0) AS settled,
       coalesce((SELECT sum(t.micro)::bigint FROM simulated_transfer t JOIN payout p ON p.reference = t.reference
                  WHERE p.provider_id = $1 AND p.state = 'paid'), 0) AS moved`, s.who.Account.ID)
		if err != nil {
			return err
		}
		if r.Balance+r.Paid != r.Settled || r.Moved != r.Paid || r.Transit != r.Unpaid {
			errs = append(errs, fmt.Errorf("provider %s: balances %s + paid %s isn't the %s earned (moved %s, in transit %s of %s)", s.name, r.Balance, r.Paid, r.Settled, r.Moved, r.Transit, r.Unpaid))
		}
	}
	fees, err := db.Value[money.Micro](ctx, q, `
SELECT coalesce((SELECT balance FROM ledger_account WHERE code = 'platform:fees'), 0) - coalesce((SELECT sum(fee)::bigint FROM settlement), 0)`)
	if err != nil {
		return err
	}
	if fees != 0 {
		errs = append(errs, fmt.Errorf("fees: the account has %s more than the settlements say", fees))
	}
	return errors.Join(errs...)
}
