package account

import (
	"context"
	"time"

	"github.com/gpunex/gpunex/internal/db"
)

// Entry is one privileged act in the audit log.
type Entry struct {
	At        time.Time
	PersonID  string // empty: the platform itself
	AccountID string
	Action    string // as in application.approve
	Subject   string // identifier of what it was done to
	Detail    map[string]string
}

// Record writes the audit log in the caller's transaction, so that no privileged act happens without its entry.
func (s *Service) Record(ctx context.Context, q db.Querier, e Entry) error {
	return insertEntry(ctx, q, e)
}

// AuditLog lists the newest entries.
func (s *Service) AuditLog(ctx context.Context, limit int) ([]Entry, error) {
	return listEntries(ctx, s.db, limit)
}
