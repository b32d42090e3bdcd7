package fleet

import (
	"context"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/protocol"
)

// gpuRow is a GPU as it is written, with what is known of its host.
type gpuRow struct {
	ID           string
	HostID       string
	UUID         string
	Position     int
	Model        string
	VRAMMiB      int64 `db:"vram_mib"`
	Detail       protocol.GPU
	Present      bool
	Fault        string
	Quarantine   string
	HostProvider string
	HostOnline   bool
	HostRetired  bool
	HostLastSeen *time.Time
}

// insertGPU records a GPU whose UUID isn't known yet.
func insertGPU(ctx context.Context, tx db.Tx, now time.Time, g gpuRow) (made bool, err error) {
	tag, err := tx.Exec(ctx, `INSERT INTO gpu (id, host_id, uuid, position, model, vram_mib, detail, present, fault, quarantine, first_seen)
		VALUES ($1, $2, $3, $4, $5, $6, $7, true, $8, $9, $10) ON CONFLICT (uuid) DO NOTHING`,
		g.ID, g.HostID, g.UUID, g.Position, g.Model, g.VRAMMiB, g.Detail, g.Fault, g.Quarantine, now)
	return tag.RowsAffected() > 0, err
}

func lockGPU(ctx context.Context, tx db.Tx, uuid string) (gpuRow, error) {
	return db.One[gpuRow](ctx, tx, `SELECT g.id, g.host_id, g.uuid, g.position, g.model, g.vram_mib, g.detail, g.present, g.fault, g.quarantine,
		h.provider_id AS host_provider, h.online AS host_online, h.retired_at IS NOT NULL AS host_retired, h.last_seen AS host_last_seen
		FROM gpu g JOIN host h ON h.id = g.host_id WHERE g.uuid = $1 FOR NO KEY UPDATE OF g`, uuid)
}

func updateGPU(ctx context.Context, tx db.Tx, g gpuRow) error {
	_, err := tx.Exec(ctx, `UPDATE gpu SET host_id = $2, position = $3, model = $4, vram_mib = $5, detail = $6, present = true, fault = $7, quarantine = $8
		WHERE id = $1`, g.ID, g.HostID, g.Position, g.Model, g.VRAMMiB, g.Detail, g.Fault, g.Quarantine)
	return err
}

// quarantineGPU keeps the reason that is there.
func quarantineGPU(ctx context.Context, tx db.Tx, id, why string) error {
	_, err := tx.Exec(ctx, `UPDATE gpu SET quarantine = $2 WHERE id = $1 AND quarantine = ''`, id, why)
	return err
}

func setQuarantine(ctx context.Context, q db.Querier, id, why string) (found bool, err error) {
	tag, err := q.Exec(ctx, `UPDATE gpu SET quarantine = $2 WHERE id = $1`, id, why)
	return tag.RowsAffected() > 0, err
}

func markVanished(ctx context.Context, tx db.Tx, host string, seen []string) error {
	_, err := tx.Exec(ctx, `UPDATE gpu SET present = false, telemetry = NULL WHERE host_id = $1 AND present AND id <> ALL ($2)`, host, seen)
	return err
}

func gpusOf(ctx context.Context, q db.Querier, host string) ([]GPU, error) {
	type row struct {
		ID, HostID, UUID string
		Position         int
		Model            string
		VRAMMiB          int64 `db:"vram_mib"`
		Detail           protocol.GPU
		Present          bool
		Fault            string
		Quarantine       string
		Telemetry        *protocol.Telemetry
	}
	rows, err := db.All[row](ctx, q, `SELECT id, host_id, uuid, position, model, vram_mib, detail, present, fault, quarantine, telemetry
		FROM gpu WHERE host_id = $1 ORDER BY position, id`, host)
	gpus := make([]GPU, len(rows))
	for i, r := range rows {
		gpus[i] = GPU(r)
	}
	return gpus, err
}
