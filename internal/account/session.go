package account

import (
	"context"
	"errors"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/gpunex/gpunex/internal/db"
)

// sessions keeps the session library's data in the database, so that every process of the platform knows every session
// and a restart signs nobody out. The library hashes tokens before they come here (HashTokenInStore).
type sessions struct {
	db  *db.DB
	now func() time.Time
}

var _ scs.CtxStore = sessions{}

// SessionStore gives the store of the session library.
func (s *Service) SessionStore() scs.CtxStore { return sessions{s.db, s.now} }

// ForgetSessions removes sessions that have expired: they are already worth nothing.
func (s *Service) ForgetSessions(ctx context.Context, now time.Time) (forgotten int, err error) {
	return deleteExpiredSessions(ctx, s.db, now)
}

// FindCtx gives a session's data; false when it isn't there or has expired.
func (s sessions) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	data, err = findSession(ctx, s.db, token, s.now())
	if errors.Is(err, db.ErrNoRow) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// CommitCtx writes a session's data.
func (s sessions) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	return saveSession(ctx, s.db, token, data, expiry)
}

// DeleteCtx ends a session.
func (s sessions) DeleteCtx(ctx context.Context, token string) error {
	return deleteSession(ctx, s.db, token)
}

// Find, Commit and Delete are what the library's older interface asks for; it calls the ones above instead.
func (s sessions) Find(token string) (data []byte, found bool, err error) {
	return s.FindCtx(context.Background(), token)
}

// Commit is CommitCtx.
func (s sessions) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

// Delete is DeleteCtx.
func (s sessions) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }
