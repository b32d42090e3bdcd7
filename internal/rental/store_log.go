package rental

import (
	"context"
	"time"

	"github.com/gpunex/gpunex/internal/db"
)

const (
	sqlRequestedOn = `SELECT requested_at FROM rental WHERE id = $1 AND host_id = $2`
	sqlNextLine    = `SELECT coalesce(max(seq) + 1, 0) FROM rental_log WHERE rental_id = $1`
	sqlInsertLines = `INSERT INTO rental_log (rental_id, seq, at, stream, text)
		SELECT $1, l.* FROM unnest($2::bigint[], $3::timestamptz[], $4::text[], $5::text[]) AS l ON CONFLICT DO NOTHING`
	sqlLines = `SELECT seq, at, stream, text FROM rental_log WHERE rental_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`
)

func requestedOn(ctx context.Context, q db.Querier, rental, host string) (time.Time, error) {
	return db.Value[time.Time](ctx, q, sqlRequestedOn, rental, host)
}

func nextLine(ctx context.Context, q db.Querier, rental string) (int64, error) {
	return db.Value[int64](ctx, q, sqlNextLine, rental)
}

func insertLines(ctx context.Context, tx db.Tx, rental string, lines []LogLine) error {
	if len(lines) == 0 {
		return nil
	}
	seqs, ats := make([]int64, len(lines)), make([]time.Time, len(lines))
	streams, texts := make([]string, len(lines)), make([]string, len(lines))
	for i, l := range lines {
		seqs[i], ats[i], streams[i], texts[i] = l.Seq, l.At, l.Stream, l.Text
	}
	_, err := tx.Exec(ctx, sqlInsertLines, rental, seqs, ats, streams, texts)
	return err
}

func linesOf(ctx context.Context, q db.Querier, rental string, after int64, limit int) ([]LogLine, error) {
	return db.All[LogLine](ctx, q, sqlLines, rental, after, limit)
}
