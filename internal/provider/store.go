package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
)

// row is an application as it is stored.
type row struct {
	ID          string
	AccountID   string
	PersonID    string
	State       State
	Form        Form
	Locale      string
	CreatedAt   time.Time
	UpdatedAt   time.Time
	SubmittedAt *time.Time
	DueAt       *time.Time
	DecidedAt   *time.Time
}

func (r row) application() Application {
	return Application{
		ID: r.ID, AccountID: r.AccountID, PersonID: r.PersonID, State: r.State, Form: r.Form, Locale: r.Locale, CreatedAt: r.CreatedAt,
		UpdatedAt: r.UpdatedAt, SubmittedAt: r.SubmittedAt, DueAt: r.DueAt, DecidedAt: r.DecidedAt,
	}
}

const selectApplication = `SELECT id, account_id, person_id, state, form, locale, created_at, updated_at, submitted_at, due_at, decided_at FROM application `

func one(ctx context.Context, q db.Querier, where string, args ...any) (Application, error) {
	r, err := db.One[row](ctx, q, selectApplication+where, args...)
	if errors.Is(err, db.ErrNoRow) {
		return Application{}, fault.New(fault.NotFound, "application_not_found", "There is no such application")
	}
	if err != nil {
		return Application{}, fmt.Errorf("provider: find application: %w", err)
	}
	return r.application(), nil
}

func findApplication(ctx context.Context, q db.Querier, id string) (Application, error) {
	return one(ctx, q, `WHERE id = $1`, id)
}

func findOpen(ctx context.Context, q db.Querier, accountID string) (Application, error) {
	return one(ctx, q, `WHERE account_id = $1 AND state IN ('draft', 'submitted', 'information_requested')`, accountID)
}

func findCurrent(ctx context.Context, q db.Querier, accountID string) (Application, bool, error) {
	a, err := one(ctx, q, `WHERE account_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1`, accountID)
	if fault.Is(err, "application_not_found") {
		return Application{}, false, nil
	}
	return a, err == nil, err
}

// lockOpen holds the account's open application until the transaction ends. When there is none, the newest one says why.
func lockOpen(ctx context.Context, tx db.Tx, accountID string) (Application, error) {
	a, err := one(ctx, tx, `WHERE account_id = $1 AND state IN ('draft', 'submitted', 'information_requested') FOR UPDATE`, accountID)
	if !fault.Is(err, "application_not_found") {
		return a, err
	}
	newest, found, ferr := findCurrent(ctx, tx, accountID)
	switch {
	case ferr != nil:
		return Application{}, ferr
	case found && (newest.State == Approved || newest.State == Rejected):
		return Application{}, decided()
	}
	return Application{}, err
}

// lockForReview holds an application that waits for an operator until the transaction ends.
func lockForReview(ctx context.Context, tx db.Tx, id string) (Application, error) {
	a, err := one(ctx, tx, `WHERE id = $1 FOR UPDATE`, id)
	if err != nil {
		return a, err
	}
	switch a.State {
	case Submitted, InformationRequested:
		return a, nil
	case Draft: // an operator has no business with it
		return Application{}, fault.New(fault.NotFound, "application_not_found", "There is no such application")
	default:
		return Application{}, decided()
	}
}

func decided() error {
	return fault.New(fault.Conflict, "application_decided", "This application has already been decided")
}

func listQueue(ctx context.Context, q db.Querier) ([]Application, error) {
	rows, err := db.All[row](ctx, q, selectApplication+`WHERE state IN ('submitted', 'information_requested') ORDER BY state = 'information_requested', due_at, id`)
	if err != nil {
		return nil, fmt.Errorf("provider: list queue: %w", err)
	}
	list := make([]Application, len(rows))
	for i, r := range rows {
		list[i] = r.application()
	}
	return list, nil
}

// insertDraft does nothing when the account has an open application.
func insertDraft(ctx context.Context, tx db.Tx, a Application) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO application (id, account_id, person_id, state, form, locale, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
		ON CONFLICT (account_id) WHERE state IN ('draft', 'submitted', 'information_requested') DO NOTHING`,
		a.ID, a.AccountID, a.PersonID, a.State, a.Form, a.Locale, a.CreatedAt)
	return err
}

func updateForm(ctx context.Context, tx db.Tx, a Application) error {
	_, err := tx.Exec(ctx, `UPDATE application SET form = $2, locale = $3, updated_at = $4 WHERE id = $1`, a.ID, a.Form, a.Locale, a.UpdatedAt)
	return err
}

// setState writes the new state of a unless the old one is no longer what it was.
func setState(ctx context.Context, tx db.Tx, a Application, from State) error {
	tag, err := tx.Exec(ctx, `
		UPDATE application SET state = $3, updated_at = $4, submitted_at = $5, due_at = $6, decided_at = $7 WHERE id = $1 AND state = $2`,
		a.ID, from, a.State, a.UpdatedAt, a.SubmittedAt, a.DueAt, a.DecidedAt)
	if err != nil {
		return fmt.Errorf("provider: set state: %w", err)
	}
	if tag.RowsAffected() != 1 {
		return decided()
	}
	return nil
}

func insertEvent(ctx context.Context, tx db.Tx, application string, now time.Time, person string, from, to State, reason string) (id int64, err error) {
	return db.Value[int64](ctx, tx, `
		INSERT INTO application_event (application_id, at, person_id, from_state, to_state, reason) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`,
		application, now, person, from, to, clean(reason))
}

func listEvents(ctx context.Context, q db.Querier, application string) ([]Event, error) {
	return db.All[Event](ctx, q, `
		SELECT e.at, p.name AS person, e.from_state AS "from", e.to_state AS "to", e.reason
		  FROM application_event e JOIN person p ON p.id = e.person_id WHERE e.application_id = $1 ORDER BY e.id`, application)
}

// listTwins finds applications of other accounts by what seems to be the same person: at most five, newest first.
func listTwins(ctx context.Context, q db.Querier, a Application) ([]string, error) {
	cities := []string{}
	for _, e := range a.Form.Entries {
		if c := strings.TrimSpace(e.City); c != "" {
			cities = append(cities, c)
		}
	}
	return db.Values[string](ctx, q, `
		SELECT id FROM application
		 WHERE account_id <> $1 AND state NOT IN ('draft', 'withdrawn')
		   AND (lower(trim(form->>'email')) = lower(trim($2))
		     OR lower(trim(form->>'full_name')) = lower(trim($3)) AND EXISTS (
		          SELECT FROM jsonb_array_elements_text(jsonb_path_query_array(form, '$.entries[*].city')) AS theirs (city)
		            JOIN unnest($4::text[]) AS ours (city) ON lower(trim(theirs.city)) = lower(ours.city)))
		 ORDER BY created_at DESC, id DESC LIMIT 5`, a.AccountID, a.Form.Email, a.Form.FullName, cities)
}

func personEmail(ctx context.Context, q db.Querier, personID string) (string, error) {
	return db.Value[string](ctx, q, `SELECT email FROM person WHERE id = $1`, personID)
}

func insertProvider(ctx context.Context, tx db.Tx, p Provider) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO provider (account_id, tier, status, models, max_hosts, commitment_months, city, country, region, approved_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		p.AccountID, p.Tier, p.Status, p.Models, p.MaxHosts, p.CommitmentMonths, p.City, p.Country, p.Region, p.ApprovedAt)
	if db.Violates(err, "provider_pkey") {
		return fault.New(fault.Conflict, "already_provider", "This account already provides GPUs")
	}
	return err
}

func findProvider(ctx context.Context, q db.Querier, accountID string) (Provider, bool, error) {
	p, err := db.One[Provider](ctx, q, `
		SELECT account_id, tier, status, models, max_hosts, commitment_months, city, country, region, approved_at FROM provider WHERE account_id = $1`, accountID)
	if errors.Is(err, db.ErrNoRow) {
		return Provider{}, false, nil
	}
	return p, err == nil, err
}

// tokenExpiry reads when the provider's newest token expires. The table is the fleet's: issuing tells only the secret,
// and the mail must not promise another day than the one that holds.
func tokenExpiry(ctx context.Context, tx db.Tx, providerID string) (time.Time, error) {
	t, err := db.Value[time.Time](ctx, tx, `SELECT expires_at FROM enrolment_token WHERE provider_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1`, providerID)
	if err != nil {
		return time.Time{}, fmt.Errorf("provider: expiry of the enrolment token: %w", err)
	}
	return t, nil
}
