package fleet

import (
	"context"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/protocol"
)

// seenRow is a host as it was when a heartbeat came.
type seenRow struct {
	DesiredRevision int64
	Unknown         bool // no hello yet
	WasOnline       bool
	Fresh           bool // no newer heartbeat has come since the hello
}

// see notes a heartbeat that was sent at a moment of the host's clock. One as old as the newest is fresh only while no
// time has passed: later, it is the same once more.
func see(ctx context.Context, tx db.Tx, now, sent time.Time, host string, applied int64) (seenRow, error) {
	return db.One[seenRow](ctx, tx, `WITH old AS (
			SELECT id, online, coalesce($4 > beat_at OR $4 = beat_at AND $2 <= last_seen, true) AS fresh FROM host WHERE id = $1 FOR NO KEY UPDATE)
		UPDATE host h SET online = true, last_seen = greatest(h.last_seen, $2), beat_at = greatest(h.beat_at, $4),
			applied_revision = CASE WHEN old.fresh THEN least($3, h.desired_revision) ELSE h.applied_revision END
		FROM old WHERE h.id = old.id
		RETURNING h.desired_revision, h.hardware IS NULL AS unknown, old.online AS was_online, old.fresh`, host, now, applied, sent)
}

// openPresence begins an interval that has no end yet, after all that there are.
func openPresence(ctx context.Context, tx db.Tx, now time.Time, host string) error {
	_, err := tx.Exec(ctx, `INSERT INTO host_presence (host_id, during)
		SELECT $1, tstzrange(greatest($2, (SELECT max(upper(during)) FROM host_presence WHERE host_id = $1)), NULL)
		ON CONFLICT DO NOTHING`, host, now)
	return err
}

// markOffline skips hosts whose heartbeat is being written: they are there.
func markOffline(ctx context.Context, tx db.Tx, silentSince time.Time) ([]string, error) {
	return db.Values[string](ctx, tx, `WITH silent AS (SELECT id FROM host WHERE online AND last_seen < $1 ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
		UPDATE host h SET online = false FROM silent WHERE h.id = silent.id RETURNING h.id`, silentSince)
}

// closePresence ends the open intervals at the last heartbeat. One that had a single heartbeat keeps a millisecond: an
// empty range would forget when it was.
func closePresence(ctx context.Context, tx db.Tx, hosts []string) error {
	_, err := tx.Exec(ctx, `UPDATE host_presence p
		SET during = tstzrange(lower(p.during), greatest(h.last_seen, lower(p.during) + interval '1 millisecond'))
		FROM host h WHERE h.id = p.host_id AND p.host_id = ANY ($1) AND upper_inf(p.during)`, hosts)
	return err
}

func saveTelemetry(ctx context.Context, tx db.Tx, host string, ts []protocol.Telemetry) error {
	if len(ts) == 0 {
		return nil
	}
	uuids := make([]string, len(ts))
	for i, t := range ts {
		uuids[i] = t.UUID
	}
	_, err := tx.Exec(ctx, `UPDATE gpu SET telemetry = t.v FROM unnest($1::text[], $2::jsonb[]) AS t (uuid, v)
		WHERE gpu.host_id = $3 AND gpu.uuid = t.uuid`, uuids, ts, host)
	return err
}
