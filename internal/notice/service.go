package notice

import (
	"context"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/id"
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
	texts  map[string]texts
}

// New makes the service. A nil sender leaves mails in the outbox.
func New(d *db.DB, sender mail.Sender, base string) *Service {
	t, err := loadTexts()
	if err != nil {
		panic(err) // the texts are compiled in: a wrong one is a bug found by the first test
	}
	return &Service{db: d, sender: sender, base: base, texts: t}
}

// Send renders the notice in its language and puts it into the outbox, in the caller's transaction.
func (s *Service) Send(ctx context.Context, q db.Querier, now time.Time, n Notice) error {
	if n.Key == "" {
		return fmt.Errorf("notice: %s for %s has no key", n.Kind, n.To)
	}
	subject, body, err := s.render(n)
	if err != nil {
		return err
	}
	return insertMail(ctx, q, n.Key, Mail{ID: id.New(id.Mail), Kind: n.Kind, To: n.To, Subject: subject, Body: body, CreatedAt: now})
}

// Outbox lists the newest mails.
func (s *Service) Outbox(ctx context.Context, limit int) ([]Mail, error) {
	return listMails(ctx, s.db, limit)
}
