package account

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/id"
)

const maxName = 200

// SignUp makes a person with an account of their own, named like the person. Faults: form with email_required,
// email_invalid, email_taken, name_required, name_long, name_invalid, password_short, password_long.
func (s *Service) SignUp(ctx context.Context, now time.Time, in SignUp) (Identity, error) {
	who, hash, err := s.newIdentity(ctx, now, in)
	if err != nil {
		return Identity{}, err
	}
	err = s.db.InTx(ctx, func(tx db.Tx) error { return insertIdentity(ctx, tx, who, hash) })
	if err != nil {
		return Identity{}, err
	}
	return who, nil
}

// newIdentity checks what was filled in and hashes the password; it writes nothing.
func (s *Service) newIdentity(ctx context.Context, now time.Time, in SignUp) (who Identity, hash string, err error) {
	form := fault.Form{}
	email, ok := ParseEmail(in.Email)
	switch {
	case strings.TrimSpace(in.Email) == "":
		form.Add("email", "email_required", "Enter an email address")
	case !ok:
		form.Add("email", "email_invalid", "Enter a valid email address")
	}
	name := strings.TrimSpace(in.Name)
	switch {
	case name == "":
		form.Add("name", "name_required", "Enter your name")
	case utf8.RuneCountInString(name) > maxName:
		form.Add("name", "name_long", "The name is too long")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		form.Add("name", "name_invalid", "The name holds characters that can't be shown")
	}
	checkPassword(form, in.Password)
	if ok { // told with the rest, not after it; the unique index decides in the end
		taken, err := emailTaken(ctx, s.db, email)
		if err != nil {
			return Identity{}, "", err
		}
		if taken {
			form.Add("email", "email_taken", "This address already has an account: sign in instead")
		}
	}
	if err := form.Err(); err != nil {
		return Identity{}, "", err
	}
	locale := in.Locale
	if !knownLocale(locale) {
		locale = "en"
	}
	if hash, err = s.hash(ctx, in.Password); err != nil {
		return Identity{}, "", err
	}
	return Identity{
		Person:  Person{ID: id.New(id.Person), Email: email, Name: name, Locale: locale, CreatedAt: now},
		Account: Account{ID: id.New(id.Account), Name: name, CreatedAt: now},
		Role:    "owner",
	}, hash, nil
}
