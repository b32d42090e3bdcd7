package payout

import (
	"context"
	"errors"
	"time"

	"github.com/gpunex/gpunex/internal/db"
)

// run is one schedule's period as it is planned.
type run struct {
	ID        string
	Schedule  string
	PeriodEnd time.Time
	StartedAt time.Time
	PlannedAt *time.Time // nil: open
}

const (
	sqlInsertRun = `INSERT INTO payout_run (id, schedule, period_end, started_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (schedule, period_end) DO NOTHING`
	sqlFindRun     = `SELECT id, schedule, period_end, started_at, planned_at FROM payout_run WHERE schedule = $1 AND period_end = $2`
	sqlLockOpenRun = `SELECT planned_at IS NULL FROM payout_run WHERE id = $1 FOR SHARE`
	sqlCloseRun    = `UPDATE payout_run SET planned_at = $2 WHERE id = $1 AND planned_at IS NULL`

	sqlProviders = `SELECT p.account_id FROM provider p LEFT JOIN payout_setting s ON s.provider_id = p.account_id
		WHERE coalesce(s.schedule, 'weekly') = $1 ORDER BY p.account_id`
	sqlLockProvider = `SELECT account_id FROM provider WHERE account_id = $1 FOR NO KEY UPDATE`
	sqlStanding     = `SELECT a.name, p.status = 'suspended' FROM provider p JOIN account a ON a.id = p.account_id WHERE p.account_id = $1`

	sqlSetting     = `SELECT schedule, rail, destination FROM payout_setting WHERE provider_id = $1`
	sqlSaveSetting = `INSERT INTO payout_setting (provider_id, schedule, rail, destination, set_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (provider_id) DO UPDATE SET schedule = excluded.schedule, rail = excluded.rail,
		destination = excluded.destination, set_at = excluded.set_at`

	sqlPlannedBefore = `SELECT EXISTS (SELECT FROM payout WHERE run_id = $1 AND provider_id = $2)`
	sqlInsertPayout  = `INSERT INTO payout (id, run_id, provider_id, micro, rail, destination, state, planned_at)
		VALUES ($1, $2, $3, $4, $5, $6, 'planned', $7)`
	sqlStartSending = `UPDATE payout SET state = 'sending', reference = $2, sending_at = $3 WHERE id = $1 AND state = 'planned'`
	sqlEndPayout    = `UPDATE payout SET state = $2, detail = $3, settled_at = $4 WHERE id = $1 AND state = 'sending'`
	sqlCountOpen    = `SELECT count(*) FROM payout WHERE state IN ('planned', 'sending')`

	sqlPayouts = `SELECT p.id, p.run_id, p.provider_id, a.name AS provider_name, p.micro, p.rail, p.destination, p.state,
		p.reference, p.detail, r.period_end, p.planned_at, p.sending_at, p.settled_at
		FROM payout p JOIN payout_run r ON r.id = p.run_id JOIN account a ON a.id = p.provider_id `
	sqlOpenPayouts = sqlPayouts + `WHERE p.state IN ('planned', 'sending') ORDER BY p.id`
	sqlPayoutsOf   = sqlPayouts + `WHERE $1 = '' OR p.provider_id = $1 ORDER BY p.planned_at DESC, p.id DESC LIMIT $2`
)

func ensureRun(ctx context.Context, q db.Querier, r run) (run, error) {
	if _, err := q.Exec(ctx, sqlInsertRun, r.ID, r.Schedule, r.PeriodEnd, r.StartedAt); err != nil {
		return run{}, err
	}
	return db.One[run](ctx, q, sqlFindRun, r.Schedule, r.PeriodEnd)
}

// findRun gives a run without an identifier when there is none yet.
func findRun(ctx context.Context, q db.Querier, schedule string, end time.Time) (run, error) {
	r, err := db.One[run](ctx, q, sqlFindRun, schedule, end)
	if errors.Is(err, db.ErrNoRow) {
		return run{}, nil
	}
	return r, err
}

// lockOpenRun keeps the run from being closed until the transaction ends, and says whether it is open.
func lockOpenRun(ctx context.Context, tx db.Tx, id string) (bool, error) {
	return db.Value[bool](ctx, tx, sqlLockOpenRun, id)
}

func closeRun(ctx context.Context, q db.Querier, id string, now time.Time) error {
	_, err := q.Exec(ctx, sqlCloseRun, id, now)
	return err
}

func providersOf(ctx context.Context, q db.Querier, schedule string) ([]string, error) {
	return db.Values[string](ctx, q, sqlProviders, schedule)
}

func lockProvider(ctx context.Context, tx db.Tx, provider string) error {
	_, err := db.Value[string](ctx, tx, sqlLockProvider, provider)
	return err
}

// standingOf reads a standing without the money, which the ledger knows.
func standingOf(ctx context.Context, q db.Querier, provider string) (Standing, error) {
	st := Standing{ProviderID: provider}
	if err := q.QueryRow(ctx, sqlStanding, provider).Scan(&st.ProviderName, &st.Suspended); err != nil {
		return Standing{}, err
	}
	var err error
	st.Setting, err = settingOf(ctx, q, provider)
	return st, err
}

// settingOf gives a provider's setting, or what holds until one is set.
func settingOf(ctx context.Context, q db.Querier, provider string) (Setting, error) {
	st, err := db.One[Setting](ctx, q, sqlSetting, provider)
	if errors.Is(err, db.ErrNoRow) {
		return Setting{Schedule: weekly, Rail: "simulated", Destination: "simulated:" + provider}, nil
	}
	return st, err
}

func saveSetting(ctx context.Context, q db.Querier, provider string, st Setting, now time.Time) error {
	_, err := q.Exec(ctx, sqlSaveSetting, provider, st.Schedule, st.Rail, st.Destination, now)
	return err
}

func plannedBefore(ctx context.Context, q db.Querier, runID, provider string) (bool, error) {
	return db.Value[bool](ctx, q, sqlPlannedBefore, runID, provider)
}

func insertPayout(ctx context.Context, tx db.Tx, p Payout) error {
	_, err := tx.Exec(ctx, sqlInsertPayout, p.ID, p.RunID, p.ProviderID, p.Micro, p.Rail, p.Destination, p.PlannedAt)
	return err
}

// startSending says whether it was this call that made a planned payout sending.
func startSending(ctx context.Context, q db.Querier, id, reference string, now time.Time) (bool, error) {
	tag, err := q.Exec(ctx, sqlStartSending, id, reference, now)
	return tag.RowsAffected() == 1, err
}

// endPayout says whether it was this call that ended a payout that was sending.
func endPayout(ctx context.Context, tx db.Tx, id string, to State, detail string, now time.Time) (bool, error) {
	tag, err := tx.Exec(ctx, sqlEndPayout, id, to, detail, now)
	return tag.RowsAffected() == 1, err
}

func countOpen(ctx context.Context, q db.Querier) (int, error) {
	return db.Value[int](ctx, q, sqlCountOpen)
}

func openPayouts(ctx context.Context, q db.Querier) ([]Payout, error) {
	return inUTC(db.All[Payout](ctx, q, sqlOpenPayouts))
}

func payoutsOf(ctx context.Context, q db.Querier, provider string, limit int) ([]Payout, error) {
	return inUTC(db.All[Payout](ctx, q, sqlPayoutsOf, provider, limit))
}

// inUTC makes times independent of the zone of the process that reads them: a period end is a date.
func inUTC(list []Payout, err error) ([]Payout, error) {
	for i := range list {
		p := &list[i]
		p.PeriodEnd, p.PlannedAt = p.PeriodEnd.UTC(), p.PlannedAt.UTC()
		for _, t := range []*time.Time{p.SendingAt, p.SettledAt} {
			if t != nil {
				*t = t.UTC()
			}
		}
	}
	return list, err
}
