package account

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
)

// Person is a human being who signs in.
type Person struct {
	ID        string
	Email     string
	Name      string
	Locale    string // en, pt-PT, fr, de
	CreatedAt time.Time
}

// Account owns things and money.
type Account struct {
	ID        string
	Name      string
	Operator  bool
	CreatedAt time.Time
}

// Identity is a person acting for an account.
type Identity struct {
	Person  Person
	Account Account
	Role    string // owner, admin, billing, member, viewer
}

// SignUp is what a new person fills in.
type SignUp struct {
	Email    string
	Name     string
	Password string
	Locale   string
}

// Service keeps people, accounts, memberships, sessions and the audit log.
type Service struct {
	db     *db.DB
	hashes *semaphore.Weighted
	// now is the clock of the session store alone: the session library asks without telling the time.
	now func() time.Time
}

// New makes the service.
func New(d *db.DB) *Service {
	return &Service{db: d, hashes: semaphore.NewWeighted(maxHashes), now: time.Now}
}

// Identify finds the person of a session and the account that they act for (their first).
// Fault: person_not_found.
func (s *Service) Identify(ctx context.Context, personID string) (Identity, error) {
	return findIdentity(ctx, s.db, personID)
}

// ByID finds an account. Fault: account_not_found.
func (s *Service) ByID(ctx context.Context, accountID string) (Account, error) {
	return findAccount(ctx, s.db, accountID)
}

// Accounts lists all accounts, newest first, for operators.
func (s *Service) Accounts(ctx context.Context, limit int) ([]Account, error) {
	return listAccounts(ctx, s.db, limit)
}

// SetLocale remembers a person's language: notices are written in it. Faults: locale_unknown, person_not_found.
func (s *Service) SetLocale(ctx context.Context, personID, locale string) error {
	if !knownLocale(locale) {
		return fault.New(fault.Invalid, "locale_unknown", "Choose one of the platform's languages")
	}
	return setLocale(ctx, s.db, personID, locale)
}

func knownLocale(l string) bool { return l == "en" || l == "pt-PT" || l == "fr" || l == "de" }
