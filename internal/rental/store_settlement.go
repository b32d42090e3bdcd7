package rental

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/protocol"
)

const (
	sqlInsertSettlement = `INSERT INTO settlement (rental_id, n, provider_id, from_ms, to_ms, charge, fee, earned, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

	sqlMaturing = `SELECT DISTINCT provider_id FROM settlement WHERE matured_at IS NULL AND at <= $1 ORDER BY provider_id`
	// Who waits for these rows finds them matured.
	sqlLockMature = `SELECT rental_id, n, earned FROM settlement WHERE matured_at IS NULL AND at <= $1 AND provider_id = $2
		ORDER BY rental_id, n FOR NO KEY UPDATE`
	sqlSetMature = `UPDATE settlement s SET matured_at = $1 FROM unnest($2::text[], $3::int[]) AS m (rental_id, n)
		WHERE s.rental_id = m.rental_id AND s.n = m.n`

	sqlEarnedSince = `SELECT coalesce(sum(earned), 0)::bigint FROM settlement WHERE provider_id = $1 AND at >= $2`
	sqlByRental    = `SELECT s.rental_id, r.model, sum(s.earned)::bigint AS micro, sum(s.to_ms - s.from_ms)::bigint AS ms
		FROM settlement s JOIN rental r ON r.id = s.rental_id WHERE s.provider_id = $1 AND s.at >= $2 GROUP BY s.rental_id, r.model ORDER BY s.rental_id`
	sqlByDay = `SELECT (at AT TIME ZONE 'UTC')::date AS date, sum(earned)::bigint AS micro FROM settlement
		WHERE provider_id = $1 AND at >= $2 GROUP BY 1 ORDER BY 1`
	sqlRentalGPUs = `SELECT c.rental_id, g.id AS gpu_id, g.uuid, g.model FROM claim c JOIN gpu g ON g.id = c.gpu_id
		WHERE c.rental_id = ANY ($1) ORDER BY c.rental_id, g.position, g.id`

	sqlHardware = `SELECT hardware FROM host WHERE id = $1`
)

// matured is one settlement that becomes payable.
type matured struct {
	RentalID string
	N        int
	Earned   money.Micro
}

// earning is what one rental earned in a time.
type earning struct {
	RentalID string
	Model    string
	Micro    money.Micro
	MS       int64 `db:"ms"`
}

// rentalGPU is one GPU that a rental has or had.
type rentalGPU struct {
	RentalID string
	GPUID    string `db:"gpu_id"`
	UUID     string
	Model    string
}

func insertSettlement(ctx context.Context, tx db.Tx, now time.Time, r record, n int, d due) error {
	_, err := tx.Exec(ctx, sqlInsertSettlement, r.ID, n, r.ProviderID, r.SettledMS, r.BilledMS, d.Charge, d.FeePart, d.Charge-d.FeePart, now)
	return err
}

func maturingProviders(ctx context.Context, q db.Querier, before time.Time) ([]string, error) {
	return db.Values[string](ctx, q, sqlMaturing, before)
}

func lockMature(ctx context.Context, tx db.Tx, before time.Time, provider string) ([]matured, error) {
	return db.All[matured](ctx, tx, sqlLockMature, before, provider)
}

func setMature(ctx context.Context, tx db.Tx, now time.Time, list []matured) error {
	rentals, ns := make([]string, len(list)), make([]int, len(list))
	for i, m := range list {
		rentals[i], ns[i] = m.RentalID, m.N
	}
	_, err := tx.Exec(ctx, sqlSetMature, now, rentals, ns)
	return err
}

// atOneMoment reads with everything as it was at one moment, so that nothing is counted twice or missed.
func atOneMoment(ctx context.Context, d *db.DB, f func(tx db.Tx) error) error {
	return pgx.BeginTxFunc(ctx, d.Pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, f)
}

func earnedSince(ctx context.Context, q db.Querier, provider string, since time.Time) (money.Micro, error) {
	return db.Value[money.Micro](ctx, q, sqlEarnedSince, provider, since)
}

func earnedByRental(ctx context.Context, q db.Querier, provider string, since time.Time) ([]earning, error) {
	return db.All[earning](ctx, q, sqlByRental, provider, since)
}

func earnedByDay(ctx context.Context, q db.Querier, provider string, since time.Time) ([]Day, error) {
	return db.All[Day](ctx, q, sqlByDay, provider, since)
}

func gpusOfRentals(ctx context.Context, q db.Querier, rentals []string) ([]rentalGPU, error) {
	return db.All[rentalGPU](ctx, q, sqlRentalGPUs, rentals)
}

// hardwareOf is empty for a host that hasn't introduced itself.
func hardwareOf(ctx context.Context, q db.Querier, host string) (protocol.Hardware, error) {
	hw, err := db.Value[*protocol.Hardware](ctx, q, sqlHardware, host)
	if err != nil || hw == nil {
		return protocol.Hardware{}, err
	}
	return *hw, nil
}
