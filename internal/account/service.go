package account

import (
	"context"
	"errors"
	"time"

	"github.com/gpunex/gpunex/internal/db"
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
type Service struct{ db *db.DB }

// New makes the service.
func New(d *db.DB) *Service { return &Service{db: d} }

var errStub = errors.New("not built yet")

// SignUp makes a person with an account of their own. Faults: form with email_invalid, email_taken, name_required, password_short.
func (s *Service) SignUp(ctx context.Context, now time.Time, in SignUp) (Identity, error) {
	return Identity{}, errStub
}

// SignIn checks a password. Fault: sign_in_failed, the same for an unknown email and a wrong password.
func (s *Service) SignIn(ctx context.Context, now time.Time, email, password string) (Identity, error) {
	return Identity{}, errStub
}

// Identify finds the person of a session and the account that they act for (their first).
func (s *Service) Identify(ctx context.Context, personID string) (Identity, error) {
	return Identity{}, errStub
}

// ByID finds an account.
func (s *Service) ByID(ctx context.Context, accountID string) (Account, error) {
	return Account{}, errStub
}

// Accounts lists all accounts, newest first, for operators.
func (s *Service) Accounts(ctx context.Context, limit int) ([]Account, error) { return nil, errStub }

// SetLocale remembers a person's language: notices are written in it.
func (s *Service) SetLocale(ctx context.Context, personID, locale string) error { return errStub }

// MakeOperator makes the person an operator, and makes the person when there is none with this email.
func (s *Service) MakeOperator(ctx context.Context, now time.Time, in SignUp) (Identity, error) {
	return Identity{}, errStub
}

// Entry is one privileged act in the audit log.
type Entry struct {
	At        time.Time
	PersonID  string // empty: the platform itself
	AccountID string
	Action    string // as in application.approve
	Subject   string // identifier of what it was done to
	Detail    map[string]string
}

// Record writes the audit log in the caller's transaction.
func (s *Service) Record(ctx context.Context, q db.Querier, e Entry) error { return errStub }

// AuditLog lists the newest entries.
func (s *Service) AuditLog(ctx context.Context, limit int) ([]Entry, error) { return nil, errStub }
