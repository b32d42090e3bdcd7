package notice

import (
	"context"
	"errors"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/mail"
)

// Notice is something that a person should know.
type Notice struct {
	// Key makes it once: a second notice with the same key is not written.
	Key    string
	Kind   string // as in application.approved; names the text in each language
	To     string // email address
	Locale string
	Data   map[string]string // values of the text
}

// Mail is a notice as it was or will be mailed.
type Mail struct {
	ID        string
	Kind      string
	To        string
	Subject   string
	Body      string
	CreatedAt time.Time
	SentAt    *time.Time
	Attempts  int
	LastError string
}

// Service writes notices into the outbox with the change that caused them, and delivers them after.
type Service struct {
	db     *db.DB
	sender mail.Sender // nil: mails stay in the outbox, where the dev page shows them
	base   string      // the platform's address, as in https://gpunex.example
}

// New makes the service. A nil sender leaves mails in the outbox.
func New(d *db.DB, sender mail.Sender, base string) *Service {
	return &Service{db: d, sender: sender, base: base}
}

var errStub = errors.New("not built yet")

// Send renders the notice in its language and puts it into the outbox, in the caller's transaction.
func (s *Service) Send(ctx context.Context, q db.Querier, now time.Time, n Notice) error {
	return errStub
}

// Deliver mails what is due: one pass. A mail that fails is tried again later, with growing pauses.
func (s *Service) Deliver(ctx context.Context, now time.Time) (sent int, err error) {
	return 0, errStub
}

// Outbox lists the newest mails.
func (s *Service) Outbox(ctx context.Context, limit int) ([]Mail, error) { return nil, errStub }
