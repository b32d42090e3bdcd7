package notice

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/db"
)

func insertMail(ctx context.Context, q db.Querier, key string, m Mail) error {
	_, err := q.Exec(ctx, `
		INSERT INTO mail (id, kind, to_address, subject, body, created_at, next_at, key)
		VALUES ($1, $2, $3, $4, $5, $6, $6, $7) ON CONFLICT (key) DO NOTHING`,
		m.ID, m.Kind, m.To, m.Subject, m.Body, m.CreatedAt, key)
	if err != nil {
		return fmt.Errorf("notice: insert %s: %w", m.Kind, err)
	}
	return nil
}

func listMails(ctx context.Context, q db.Querier, limit int) ([]Mail, error) {
	return db.All[Mail](ctx, q, `
		SELECT id, kind, to_address AS "to", subject, body, created_at, sent_at, attempts, last_error
		  FROM mail ORDER BY created_at DESC, id DESC LIMIT $1`, limit)
}

// claim holds one mail until its transaction ends.
type claim struct {
	tx   db.Tx
	mail Mail
}

// claimDue takes the mail that has been due for longest and that nobody else holds.
func claimDue(ctx context.Context, d *db.DB, now time.Time) (c claim, found bool, err error) {
	if c.tx, err = d.Begin(ctx); err != nil {
		return claim{}, false, fmt.Errorf("notice: claim: %w", err)
	}
	c.mail, err = db.One[Mail](ctx, c.tx, `
		SELECT id, kind, to_address AS "to", subject, body, created_at, sent_at, attempts, last_error
		  FROM mail WHERE sent_at IS NULL AND next_at <= $1
		 ORDER BY next_at, id LIMIT 1 FOR UPDATE SKIP LOCKED`, now)
	if err != nil {
		c.release(context.WithoutCancel(ctx))
		if errors.Is(err, db.ErrNoRow) {
			return claim{}, false, nil
		}
		return claim{}, false, fmt.Errorf("notice: claim: %w", err)
	}
	return c, true, nil
}

// release gives the mail back unless it was marked.
func (c claim) release(ctx context.Context) {
	_ = c.tx.Rollback(ctx) // after a commit there is nothing to undo; a lost connection lets go by itself
}

func (c claim) markSent(ctx context.Context, now time.Time, body string) error {
	return c.mark(ctx, `UPDATE mail SET sent_at = $2, attempts = attempts + 1, last_error = '', body = $3 WHERE id = $1`, now, body)
}

func (c claim) markFailed(ctx context.Context, next time.Time, why string) error {
	return c.mark(ctx, `UPDATE mail SET next_at = $2, attempts = attempts + 1, last_error = $3 WHERE id = $1`, next, why)
}

func (c claim) mark(ctx context.Context, sql string, args ...any) error {
	if _, err := c.tx.Exec(ctx, sql, append([]any{c.mail.ID}, args...)...); err != nil {
		return fmt.Errorf("notice: mark %s: %w", c.mail.ID, err)
	}
	if err := c.tx.Commit(ctx); err != nil {
		return fmt.Errorf("notice: mark %s: %w", c.mail.ID, err)
	}
	return nil
}
