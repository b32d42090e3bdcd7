package fleet

import (
	"context"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/protocol"
)

type tokenRow struct {
	Token
	ProviderID string
}

const tokenColumns = `id, hint, created_at, expires_at, revoked_at, max_hosts, used`

func insertToken(ctx context.Context, q db.Querier, provider string, hash []byte, t Token) error {
	_, err := q.Exec(ctx, `INSERT INTO enrolment_token (id, provider_id, hash, hint, created_at, expires_at, max_hosts)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, t.ID, provider, hash, t.Hint, t.CreatedAt, t.ExpiresAt, t.MaxHosts)
	return err
}

func tokensOf(ctx context.Context, q db.Querier, provider string) ([]Token, error) {
	return db.All[Token](ctx, q, `SELECT `+tokenColumns+` FROM enrolment_token WHERE provider_id = $1 ORDER BY created_at DESC, id DESC`, provider)
}

func revokeToken(ctx context.Context, q db.Querier, now time.Time, provider, id string) (found bool, err error) {
	tag, err := q.Exec(ctx, `UPDATE enrolment_token SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2 AND provider_id = $3`, now, id, provider)
	return tag.RowsAffected() > 0, err
}

func lockToken(ctx context.Context, tx db.Tx, hash []byte) (tokenRow, error) {
	return db.One[tokenRow](ctx, tx, `SELECT provider_id, `+tokenColumns+` FROM enrolment_token WHERE hash = $1 FOR UPDATE`, hash)
}

func useToken(ctx context.Context, tx db.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE enrolment_token SET used = used + 1 WHERE id = $1`, id)
	return err
}

type providerRow struct {
	City, Country, Region string
	MaxHosts              int
	Hosts                 int
}

func lockProvider(ctx context.Context, tx db.Tx, provider string) (providerRow, error) {
	if _, err := tx.Exec(ctx, `SELECT 1 FROM provider WHERE account_id = $1 FOR NO KEY UPDATE`, provider); err != nil {
		return providerRow{}, err
	}
	// A second statement, so that it sees the hosts of whoever held the lock.
	return db.One[providerRow](ctx, tx, `SELECT city, country, region, max_hosts,
		(SELECT count(*) FROM host WHERE provider_id = $1 AND retired_at IS NULL) AS hosts
		FROM provider WHERE account_id = $1`, provider)
}

const hostColumns = `id, provider_id, name, public_key, agent_version, hardware, simulated, city, country, region,
	desired_revision, applied_revision, last_seen, online, enrolled_at, retired_at`

func hostByKey(ctx context.Context, q db.Querier, publicKey string) (Host, error) {
	return db.One[Host](ctx, q, `SELECT `+hostColumns+` FROM host WHERE public_key = $1`, publicKey)
}

func hostByID(ctx context.Context, q db.Querier, id string) (Host, error) {
	return db.One[Host](ctx, q, `SELECT `+hostColumns+` FROM host WHERE id = $1`, id)
}

func lockHost(ctx context.Context, tx db.Tx, id string) (Host, error) {
	return db.One[Host](ctx, tx, `SELECT `+hostColumns+` FROM host WHERE id = $1 FOR NO KEY UPDATE`, id)
}

// snapshot makes all that a transaction reads be of one moment.
func snapshot(ctx context.Context, tx db.Tx) error {
	_, err := tx.Exec(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`)
	return err
}

func hostsOf(ctx context.Context, q db.Querier, provider string) ([]Host, error) {
	return db.All[Host](ctx, q, `SELECT `+hostColumns+` FROM host WHERE ($1 = '' OR provider_id = $1) AND retired_at IS NULL
		ORDER BY enrolled_at, id`, provider)
}

// insertHost makes a host unless its key is one already.
func insertHost(ctx context.Context, tx db.Tx, h Host, token string, protocol int) (made bool, err error) {
	tag, err := tx.Exec(ctx, `INSERT INTO host (id, provider_id, token_id, name, public_key, agent_version, protocol, city, country, region, desired_revision, enrolled_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (public_key) DO NOTHING`,
		h.ID, h.ProviderID, token, h.Name, h.PublicKey, h.AgentVersion, protocol, h.City, h.Country, h.Region, h.DesiredRevision, h.EnrolledAt)
	return tag.RowsAffected() > 0, err
}

func renameHost(ctx context.Context, tx db.Tx, h Host, protocol int) error {
	_, err := tx.Exec(ctx, `UPDATE host SET name = $2, agent_version = $3, protocol = $4 WHERE id = $1`, h.ID, h.Name, h.AgentVersion, protocol)
	return err
}

func saveHello(ctx context.Context, tx db.Tx, now time.Time, id, agentVersion string, version int, hw protocol.Hardware) error {
	_, err := tx.Exec(ctx, `UPDATE host SET hello_at = $2, beat_at = NULL, agent_version = $3, protocol = $4, hardware = $5, simulated = $6 WHERE id = $1`,
		id, now, agentVersion, version, hw, hw.Simulated)
	return err
}

func bump(ctx context.Context, q db.Querier, id string) (int64, error) {
	return db.Value[int64](ctx, q, `UPDATE host SET desired_revision = desired_revision + 1 WHERE id = $1 RETURNING desired_revision`, id)
}
