package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
)

func insertIdentity(ctx context.Context, tx db.Tx, who Identity, hash string) error {
	p, a := who.Person, who.Account
	_, err := tx.Exec(ctx, `INSERT INTO person (id, email, name, password_hash, locale, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		p.ID, p.Email, p.Name, hash, p.Locale, p.CreatedAt)
	if db.Violates(err, "person_email") { // somebody signed up with it since it was checked
		form := fault.Form{}
		form.Add("email", "email_taken", "This address already has an account: sign in instead")
		return form.Err()
	}
	if err != nil {
		return fmt.Errorf("insert person: %w", err)
	}
	if _, err = tx.Exec(ctx, `INSERT INTO account (id, name, operator, created_at) VALUES ($1, $2, $3, $4)`, a.ID, a.Name, a.Operator, a.CreatedAt); err != nil {
		return fmt.Errorf("insert account: %w", err)
	}
	if _, err = tx.Exec(ctx, `INSERT INTO membership (account_id, person_id, role, created_at) VALUES ($1, $2, $3, $4)`, a.ID, p.ID, who.Role, p.CreatedAt); err != nil {
		return fmt.Errorf("insert membership: %w", err)
	}
	return nil
}

func emailTaken(ctx context.Context, q db.Querier, email string) (bool, error) {
	return db.Value[bool](ctx, q, `SELECT EXISTS (SELECT FROM person WHERE email = $1)`, email)
}

type credential struct {
	ID           string
	PasswordHash string
}

func findCredential(ctx context.Context, q db.Querier, email string) (credential, error) {
	return db.One[credential](ctx, q, `SELECT id, password_hash FROM person WHERE email = $1`, email)
}

func findIdentity(ctx context.Context, q db.Querier, personID string) (Identity, error) {
	var w Identity
	p, a := &w.Person, &w.Account
	err := q.QueryRow(ctx, `
		SELECT p.id, p.email, p.name, p.locale, p.created_at, a.id, a.name, a.operator, a.created_at, m.role
		  FROM person p JOIN membership m ON m.person_id = p.id JOIN account a ON a.id = m.account_id
		 WHERE p.id = $1 ORDER BY m.created_at, a.id LIMIT 1`, personID).
		Scan(&p.ID, &p.Email, &p.Name, &p.Locale, &p.CreatedAt, &a.ID, &a.Name, &a.Operator, &a.CreatedAt, &w.Role)
	if errors.Is(err, db.ErrNoRow) {
		return Identity{}, fault.New(fault.NotFound, "person_not_found", "There is no such person")
	}
	if err != nil {
		return Identity{}, fmt.Errorf("find identity: %w", err)
	}
	return w, nil
}

func findAccount(ctx context.Context, q db.Querier, accountID string) (Account, error) {
	a, err := db.One[Account](ctx, q, `SELECT id, name, operator, created_at FROM account WHERE id = $1`, accountID)
	if errors.Is(err, db.ErrNoRow) {
		return Account{}, fault.New(fault.NotFound, "account_not_found", "There is no such account")
	}
	return a, err
}

func listAccounts(ctx context.Context, q db.Querier, limit int) ([]Account, error) {
	return db.All[Account](ctx, q, `SELECT id, name, operator, created_at FROM account ORDER BY created_at DESC, id DESC LIMIT $1`, limit)
}

func setLocale(ctx context.Context, q db.Querier, personID, locale string) error {
	tag, err := q.Exec(ctx, `UPDATE person SET locale = $2 WHERE id = $1`, personID, locale)
	if err != nil {
		return fmt.Errorf("set locale: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fault.New(fault.NotFound, "person_not_found", "There is no such person")
	}
	return nil
}

func setOperator(ctx context.Context, q db.Querier, accountID string) error {
	_, err := q.Exec(ctx, `UPDATE account SET operator = true WHERE id = $1`, accountID)
	return err
}

func insertEntry(ctx context.Context, q db.Querier, e Entry) error {
	if e.Detail == nil {
		e.Detail = map[string]string{}
	}
	_, err := q.Exec(ctx, `INSERT INTO audit_log (at, person_id, account_id, action, subject, detail) VALUES ($1, nullif($2, ''), nullif($3, ''), $4, $5, $6)`,
		e.At, e.PersonID, e.AccountID, e.Action, e.Subject, e.Detail)
	if err != nil {
		return fmt.Errorf("record %s: %w", e.Action, err)
	}
	return nil
}

func listEntries(ctx context.Context, q db.Querier, limit int) ([]Entry, error) {
	return db.All[Entry](ctx, q, `
		SELECT at, coalesce(person_id, '') AS person_id, coalesce(account_id, '') AS account_id, action, subject, detail
		  FROM audit_log ORDER BY id DESC LIMIT $1`, limit)
}

func findSession(ctx context.Context, q db.Querier, token string, now time.Time) ([]byte, error) {
	return db.Value[[]byte](ctx, q, `SELECT data FROM session WHERE token = $1 AND expiry > $2`, token, now)
}

func saveSession(ctx context.Context, q db.Querier, token string, data []byte, expiry time.Time) error {
	_, err := q.Exec(ctx, `
		INSERT INTO session (token, data, expiry) VALUES ($1, $2, $3)
		ON CONFLICT (token) DO UPDATE SET data = excluded.data, expiry = excluded.expiry`, token, data, expiry)
	return err
}

func deleteSession(ctx context.Context, q db.Querier, token string) error {
	_, err := q.Exec(ctx, `DELETE FROM session WHERE token = $1`, token)
	return err
}

func deleteExpiredSessions(ctx context.Context, q db.Querier, now time.Time) (int, error) {
	tag, err := q.Exec(ctx, `DELETE FROM session WHERE expiry <= $1`, now)
	return int(tag.RowsAffected()), err
}

func listOwners(ctx context.Context, q db.Querier, accountID string) ([]Person, error) {
	return db.All[Person](ctx, q, `SELECT p.id, p.email, p.name, p.locale, p.created_at FROM membership m JOIN person p ON p.id = m.person_id
		WHERE m.account_id = $1 AND m.role = 'owner' ORDER BY p.id`, accountID)
}
