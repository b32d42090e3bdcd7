package rental

import (
	"context"
	"time"

	"github.com/gpunex/gpunex/internal/db"
)

// The constraints that decide between two who want the same.
const (
	gpuLetOnce = "gpu_let_once"
	quoteOnce  = "rental_quote_id_key"
	keyOnce    = "rental_customer_id_idem_key_key"
)

func violates(err error, constraint string) bool { return db.Violates(err, constraint) }

// record is a rental's row with what only this package needs.
type record struct {
	Rental
	PersonID       string
	QuoteID        string
	IdemKey        string
	RequestHash    []byte
	SettledAt      *time.Time
	SettledMS      int64 `db:"settled_ms"`
	Holds          int
	WantedRevision int64
	MissingSince   *time.Time
	LastSeen       *time.Time // the host's
	Online         bool       // the host
}

const (
	sqlColumns = `SELECT r.id, r.customer_id, r.provider_id, r.host_id, h.name AS host_name, r.model, r.gpus, r.micro, r.fee_bps, r.image,
		r.command, r.env, coalesce(r.max_spend, 0) AS max_spend, coalesce(r.max_ms, 0) AS max_ms, r.simulated, r.state, r.phase, r.message,
		r.exit_code, r.requested_at, r.running_at, coalesce(r.stop_reason, '') AS stop_reason, r.stop_at, r.ended_at,
		coalesce(r.end_reason, '') AS end_reason, coalesce(r.attributed, '') AS attributed, r.metered_at, r.billed_ms, r.charged, r.fee,
		r.settlements, r.warned_at, r.person_id, r.quote_id, r.idem_key, r.request_hash, r.settled_at, r.settled_ms, r.holds,
		r.wanted_revision, r.missing_since, h.last_seen, h.online
		FROM rental r JOIN host h ON h.id = r.host_id `
	sqlByID     = sqlColumns + `WHERE r.id = $1`
	sqlLock     = sqlByID + ` FOR NO KEY UPDATE OF r`
	sqlByKey    = sqlColumns + `WHERE r.customer_id = $1 AND r.idem_key = $2`
	sqlOpen     = sqlColumns + `WHERE r.state <> 'ended' ORDER BY r.id`
	sqlOpenHost = sqlColumns + `WHERE r.state <> 'ended' AND r.host_id = $1 ORDER BY r.id`
	sqlOpenOf   = sqlColumns + `WHERE r.state <> 'ended' AND ($1 = '' OR r.provider_id = $1) ORDER BY r.requested_at DESC, r.id DESC`
	sqlListOf   = sqlColumns + `WHERE r.customer_id = $1 ORDER BY r.requested_at DESC, r.id DESC LIMIT $2`

	sqlInsert = `INSERT INTO rental (id, customer_id, person_id, provider_id, host_id, quote_id, idem_key, request_hash, model, gpus, micro, fee_bps,
		image, command, env, max_spend, max_ms, simulated, state, requested_at, wanted_revision, holds)
		SELECT $1, $2, $3, h.provider_id, h.id, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, nullif($15, 0::bigint), nullif($16, 0::bigint),
		h.simulated, 'starting', $17, $18, 1 FROM host h WHERE h.id = $4`
	sqlSave = `UPDATE rental SET state = $2, phase = $3, message = $4, exit_code = $5, running_at = $6, stop_reason = nullif($7, ''), stop_at = $8,
		ended_at = $9, end_reason = nullif($10, ''), attributed = nullif($11, ''), metered_at = $12, billed_ms = $13, charged = $14, fee = $15,
		settlements = $16, settled_at = $17, settled_ms = $18, holds = $19, warned_at = $20, wanted_revision = $21, missing_since = $22 WHERE id = $1`

	sqlQuoteUsed = `SELECT EXISTS (SELECT FROM rental WHERE quote_id = $1)`

	// A claim begins when the one before has ended, even if this request's clock was read before that.
	sqlInsertClaims = `INSERT INTO claim (rental_id, gpu_id, during)
		SELECT $1, g.id, tstzrange(greatest($3, (SELECT max(upper(c.during)) FROM claim c WHERE c.gpu_id = g.id)), NULL)
		FROM unnest($2::text[]) AS g (id) ORDER BY g.id`
	// An empty range would forget when it was: a claim keeps a millisecond.
	sqlCloseClaims = `UPDATE claim SET during = tstzrange(lower(during), greatest($2, lower(during) + interval '1 millisecond'))
		WHERE rental_id = $1 AND upper_inf(during)`
	sqlClaimed = `SELECT g.uuid FROM claim c JOIN gpu g ON g.id = c.gpu_id WHERE c.rental_id = $1 ORDER BY g.position, g.id`

	sqlInsertEvent = `INSERT INTO rental_event (rental_id, at, state, detail) VALUES ($1, $2, $3, $4)`
	sqlEvents      = `SELECT at, state, detail FROM rental_event WHERE rental_id = $1 ORDER BY id`
)

func rentalByID(ctx context.Context, q db.Querier, id string) (record, error) {
	return db.One[record](ctx, q, sqlByID, id)
}

func lockRental(ctx context.Context, tx db.Tx, id string) (record, error) {
	return db.One[record](ctx, tx, sqlLock, id)
}

func rentalByKey(ctx context.Context, q db.Querier, customer, key string) (record, error) {
	return db.One[record](ctx, q, sqlByKey, customer, key)
}

func openRentals(ctx context.Context, q db.Querier) ([]record, error) {
	return db.All[record](ctx, q, sqlOpen)
}

func openOnHost(ctx context.Context, q db.Querier, host string) ([]record, error) {
	return db.All[record](ctx, q, sqlOpenHost, host)
}

func openOf(ctx context.Context, q db.Querier, provider string) ([]record, error) {
	return db.All[record](ctx, q, sqlOpenOf, provider)
}

func listOf(ctx context.Context, q db.Querier, customer string, limit int) ([]record, error) {
	return db.All[record](ctx, q, sqlListOf, customer, limit)
}

func insertRental(ctx context.Context, tx db.Tx, r record) error {
	command, env := r.Command, r.Env
	if command == nil {
		command = []string{}
	}
	if env == nil {
		env = map[string]string{}
	}
	_, err := tx.Exec(ctx, sqlInsert, r.ID, r.CustomerID, r.PersonID, r.HostID, r.QuoteID, r.IdemKey, r.RequestHash, r.Model, r.GPUs, r.Micro, r.FeeBPS,
		r.Image, command, env, r.MaxSpend, r.MaxMS, r.RequestedAt, r.WantedRevision)
	return err
}

// saveRental writes all that can change of a rental; its row is locked.
func saveRental(ctx context.Context, tx db.Tx, r record) error {
	_, err := tx.Exec(ctx, sqlSave, r.ID, r.State, r.Phase, r.Message, r.ExitCode, r.RunningAt, r.StopReason, r.StopAt, r.EndedAt, r.EndReason, r.Attributed,
		r.MeteredAt, r.BilledMS, r.Charged, r.Fee, r.Settlements, r.SettledAt, r.SettledMS, r.Holds, r.WarnedAt, r.WantedRevision, r.MissingSince)
	return err
}

func quoteIsUsed(ctx context.Context, q db.Querier, quote string) (bool, error) {
	return db.Value[bool](ctx, q, sqlQuoteUsed, quote)
}

func insertClaims(ctx context.Context, tx db.Tx, now time.Time, rental string, gpus []string) error {
	_, err := tx.Exec(ctx, sqlInsertClaims, rental, gpus, now)
	return err
}

func closeClaims(ctx context.Context, tx db.Tx, now time.Time, rental string) error {
	_, err := tx.Exec(ctx, sqlCloseClaims, rental, now)
	return err
}

func claimedUUIDs(ctx context.Context, q db.Querier, rental string) ([]string, error) {
	return db.Values[string](ctx, q, sqlClaimed, rental)
}

func insertEvent(ctx context.Context, tx db.Tx, now time.Time, rental string, state State, detail string) error {
	_, err := tx.Exec(ctx, sqlInsertEvent, rental, now, state, detail)
	return err
}

func eventsOf(ctx context.Context, q db.Querier, rental string) ([]Event, error) {
	return db.All[Event](ctx, q, sqlEvents, rental)
}

func rentals(records []record) []Rental {
	list := make([]Rental, len(records))
	for i, r := range records {
		list[i] = r.Rental
	}
	return list
}
