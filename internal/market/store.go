package market

import (
	"context"
	"errors"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/money"
)

const (
	// $1 provider, $2 host, $3 model; empty: any.
	sqlFacts = `SELECT g.id AS gpu_id, g.uuid, h.id AS host_id, h.name AS host_name, h.provider_id, h.online, g.model, g.vram_mib,
		g.present, g.fault, g.quarantine, h.simulated, p.tier, p.status <> 'active' AS suspended, g.model = ANY (p.models) AS approved,
		coalesce(pr.micro, 0) AS micro, b.passed IS NOT NULL AS measured, coalesce(b.passed AND b.proof_ok, false) AS passed,
		coalesce(b.score, 0) AS score, coalesce(b.health, 0) AS health, coalesce(c.rental_id, '') AS rental,
		h.city, h.country, h.region,
		coalesce((h.hardware->>'cpus')::bigint, 0) AS cpus, coalesce((h.hardware->>'ram_mib')::bigint, 0) AS ram_mib,
		coalesce((h.hardware->>'disk_mib')::bigint, 0) AS disk_mib, coalesce(h.hardware->>'driver', '') AS driver,
		coalesce(h.hardware->>'cuda', '') AS cuda, coalesce(h.hardware->>'runtime', '') AS runtime,
		coalesce(h.hardware->'isolation'->>-1, '') AS isolation
		FROM gpu g
		JOIN host h ON h.id = g.host_id
		JOIN provider p ON p.account_id = h.provider_id
		LEFT JOIN price pr ON pr.provider_id = h.provider_id AND pr.model = g.model
		LEFT JOIN LATERAL (SELECT passed, proof_ok, score, health FROM benchmark_result
		                   WHERE gpu_id = g.id ORDER BY at DESC, run_id DESC LIMIT 1) b ON true
		LEFT JOIN claim c ON c.gpu_id = g.id AND upper_inf(c.during)
		WHERE h.retired_at IS NULL AND ($1 = '' OR h.provider_id = $1) AND ($2 = '' OR h.id = $2) AND ($3 = '' OR g.model = $3)
		ORDER BY h.enrolled_at, h.id, g.position, g.id`

	sqlPrices = `WITH had AS (SELECT g.model, count(*) FILTER (WHERE g.present) AS gpus
		                FROM gpu g JOIN host h ON h.id = g.host_id WHERE h.provider_id = $1 AND h.retired_at IS NULL GROUP BY g.model),
		named AS (SELECT unnest(models) AS model FROM provider WHERE account_id = $1
		          UNION SELECT model FROM had UNION SELECT model FROM price WHERE provider_id = $1)
		SELECT named.model, coalesce(pr.micro, 0) AS micro, pr.set_at, coalesce(had.gpus, 0)::int AS gpus
		FROM named LEFT JOIN had USING (model) LEFT JOIN price pr ON pr.provider_id = $1 AND pr.model = named.model
		ORDER BY named.model`

	sqlIsProvider = `SELECT EXISTS (SELECT FROM provider WHERE account_id = $1)`
	sqlHasModel   = `SELECT EXISTS (SELECT FROM gpu g JOIN host h ON h.id = g.host_id WHERE h.provider_id = $1 AND g.model = $2)`
	sqlSavePrice  = `INSERT INTO price (provider_id, model, micro, set_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (provider_id, model) DO UPDATE SET micro = excluded.micro, set_at = excluded.set_at`
	sqlSaveChange = `INSERT INTO price_change (provider_id, model, micro, at, person_id) VALUES ($1, $2, $3, $4, $5)`

	sqlInsertQuote = `INSERT INTO quote (id, customer_id, host_id, model, gpus, micro, fee_bps, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	sqlQuote = `SELECT id, customer_id, host_id, model, gpus, micro, fee_bps, created_at, expires_at FROM quote
		WHERE id = $1 AND customer_id = $2`
	sqlLockQuote = sqlQuote + ` FOR NO KEY UPDATE`
)

func factsOf(ctx context.Context, q db.Querier, provider, host, model string) ([]facts, error) {
	return db.All[facts](ctx, q, sqlFacts, provider, host, model)
}

func pricesOf(ctx context.Context, q db.Querier, provider string) ([]Price, error) {
	return db.All[Price](ctx, q, sqlPrices, provider)
}

func isProvider(ctx context.Context, q db.Querier, account string) (bool, error) {
	return db.Value[bool](ctx, q, sqlIsProvider, account)
}

func hasModel(ctx context.Context, q db.Querier, provider, model string) (bool, error) {
	return db.Value[bool](ctx, q, sqlHasModel, provider, model)
}

// savePrice sets the rate and keeps its history.
func savePrice(ctx context.Context, tx db.Tx, now time.Time, provider, person, model string, rate money.Micro) error {
	if _, err := tx.Exec(ctx, sqlSavePrice, provider, model, rate, now); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, sqlSaveChange, provider, model, rate, now, person)
	return err
}

func insertQuote(ctx context.Context, q db.Querier, x Quote) error {
	_, err := q.Exec(ctx, sqlInsertQuote, x.ID, x.CustomerID, x.HostID, x.Model, x.GPUs, x.Micro, x.FeeBPS, x.CreatedAt, x.ExpiresAt)
	return err
}

func readQuote(ctx context.Context, q db.Querier, sql, id, customer string, hour func(Quote) (money.Micro, error)) (Quote, error) {
	type row struct {
		ID, CustomerID, HostID, Model string
		GPUs                          int
		Micro                         money.Micro
		FeeBPS                        int `db:"fee_bps"`
		CreatedAt, ExpiresAt          time.Time
	}
	r, err := db.One[row](ctx, q, sql, id, customer)
	if errors.Is(err, db.ErrNoRow) {
		return Quote{}, quoteNotFound()
	}
	if err != nil {
		return Quote{}, err
	}
	x := Quote{ID: r.ID, CustomerID: r.CustomerID, HostID: r.HostID, Model: r.Model, GPUs: r.GPUs, Micro: r.Micro,
		FeeBPS: r.FeeBPS, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt}
	x.HourCost, err = hour(x)
	return x, err
}
