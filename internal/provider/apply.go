package provider

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/calendar"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/id"
	"github.com/gpunex/gpunex/internal/notice"
)

// reviewDays is how many business days a decision may take.
const reviewDays = 3

// maxForm is how large a draft may be, in bytes of JSON: far more than anybody types.
const maxForm = 512 << 10

// Open gives the account's open application, making a draft with the person's name and email when there is none.
// Fault: already_provider.
func (s *Service) Open(ctx context.Context, now time.Time, who account.Identity) (Application, error) {
	if err := mayApply(who); err != nil {
		return Application{}, err
	}
	var a Application
	err := s.db.InTx(ctx, func(tx db.Tx) error {
		_, is, err := findProvider(ctx, tx, who.Account.ID)
		if err != nil {
			return err
		}
		if is {
			return fault.New(fault.Conflict, "already_provider", "This account already provides GPUs")
		}
		draft := Application{
			ID: id.New(id.Application), AccountID: who.Account.ID, PersonID: who.Person.ID, State: Draft, Locale: who.Person.Locale, CreatedAt: now, UpdatedAt: now,
			Form: Form{FullName: who.Person.Name, Email: who.Person.Email, Entries: []Entry{}, Commitment: "0"},
		}
		if err := insertDraft(ctx, tx, draft); err != nil { // nothing happens when one is open
			return err
		}
		a, err = findOpen(ctx, tx, who.Account.ID)
		if err != nil {
			return err
		}
		a.Events, err = listEvents(ctx, tx, a.ID)
		return err
	})
	return a, err
}

// Save keeps a draft (or the answers to a request for information) as it was typed, however wrong.
// Faults: application_not_found, application_submitted, too_long.
func (s *Service) Save(ctx context.Context, now time.Time, who account.Identity, f Form) error {
	if err := mayApply(who); err != nil {
		return err
	}
	return s.db.InTx(ctx, func(tx db.Tx) error {
		_, err := s.save(ctx, tx, now, who, f)
		return err
	})
}

// save locks the open application and keeps the form in it.
func (s *Service) save(ctx context.Context, tx db.Tx, now time.Time, who account.Identity, f Form) (Application, error) {
	a, err := lockOpen(ctx, tx, who.Account.ID)
	if err != nil {
		return a, err
	}
	if a.State == Submitted {
		return a, fault.New(fault.Conflict, "application_submitted", "This application has been submitted: withdraw it to change it")
	}
	a.Form, a.Locale, a.UpdatedAt = f.storable(), who.Person.Locale, now
	if b, err := json.Marshal(a.Form); err != nil || len(b) > maxForm {
		return a, fault.New(fault.Invalid, "too_long", "This text is too long")
	}
	return a, updateForm(ctx, tx, a)
}

// Submit saves and submits; when something is wrong the form is saved all the same, and the fault holds each field.
func (s *Service) Submit(ctx context.Context, now time.Time, who account.Identity, f Form) (Application, error) {
	if err := mayApply(who); err != nil {
		return Application{}, err
	}
	var a Application
	var wrong error
	err := s.db.InTx(ctx, func(tx db.Tx) (err error) {
		if a, err = s.save(ctx, tx, now, who, f); err != nil {
			return err
		}
		if wrong = a.Form.Check(); wrong != nil {
			return nil // what was typed is kept
		}
		from, due := a.State, calendar.AddBusinessDays(now, reviewDays)
		a.State, a.SubmittedAt, a.DueAt = Submitted, &now, &due
		err = s.step(ctx, tx, now, who, &a, from, "", "application.submitted", map[string]string{"due": date(due)})
		if err != nil {
			return err
		}
		a.Events, err = listEvents(ctx, tx, a.ID)
		return err
	})
	if err != nil {
		return Application{}, err
	}
	return a, wrong
}

// Withdraw ends an application before a decision. Faults: application_decided, application_not_found.
func (s *Service) Withdraw(ctx context.Context, now time.Time, who account.Identity) error {
	if err := mayApply(who); err != nil {
		return err
	}
	return s.db.InTx(ctx, func(tx db.Tx) error {
		a, err := lockOpen(ctx, tx, who.Account.ID)
		if err != nil {
			return err
		}
		from, kind := a.State, "application.withdrawn"
		if from == Draft {
			kind = "" // nobody but the applicant ever saw it
		}
		a.State, a.DecidedAt, a.UpdatedAt = Withdrawn, &now, now
		return s.step(ctx, tx, now, who, &a, from, "", kind, nil)
	})
}

// step moves a locked application from one state to the next: with the event, the audit log and the mail to the
// applicant, in one transaction.
func (s *Service) step(ctx context.Context, tx db.Tx, now time.Time, who account.Identity, a *Application, from State, reason, kind string, data map[string]string) error {
	if err := setState(ctx, tx, *a, from); err != nil {
		return err
	}
	event, err := insertEvent(ctx, tx, a.ID, now, who.Person.ID, from, a.State, reason)
	if err != nil {
		return err
	}
	err = s.accounts.Record(ctx, tx, account.Entry{
		At: now, PersonID: who.Person.ID, AccountID: who.Account.ID, Action: "application." + string(a.State), Subject: a.ID,
		Detail: map[string]string{"from": string(from), "reason": reason},
	})
	if err != nil || kind == "" {
		return err
	}
	to, ok := account.ParseEmail(a.Form.Email)
	if !ok { // it may have been changed to something wrong since it was submitted
		if to, err = personEmail(ctx, tx, a.PersonID); err != nil {
			return err
		}
	}
	if data == nil {
		data = map[string]string{}
	}
	data["name"] = a.Form.FullName
	return s.notices.Send(ctx, tx, now, notice.Notice{Key: kind + ":" + strconv.FormatInt(event, 10), Kind: kind, To: to, Locale: a.Locale, Data: data})
}

// mayApply keeps those out who only look at an account or pay for it.
func mayApply(who account.Identity) error {
	if slices.Contains([]string{"owner", "admin"}, who.Role) {
		return nil
	}
	return fault.New(fault.Forbidden, "role_forbidden", "Only an owner or an admin of the account may do this")
}

// date writes a day in the one way that is read alike in every language.
func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }
