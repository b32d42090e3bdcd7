package account

import (
	"context"
	"errors"
	"time"

	"github.com/gpunex/gpunex/internal/db"
)

// MakeOperator makes the person an operator, and makes the person when there is none with this email. The password and
// the name of a person who is there already stay as they are.
func (s *Service) MakeOperator(ctx context.Context, now time.Time, in SignUp) (Identity, error) {
	email, ok := ParseEmail(in.Email)
	personID := ""
	if ok {
		c, err := findCredential(ctx, s.db, email)
		if err != nil && !errors.Is(err, db.ErrNoRow) {
			return Identity{}, err
		}
		personID = c.ID
	}
	var who Identity
	var hash string
	var err error
	if personID == "" {
		if who, hash, err = s.newIdentity(ctx, now, in); err != nil {
			return Identity{}, err
		}
	} else if who, err = s.Identify(ctx, personID); err != nil {
		return Identity{}, err
	}
	err = s.db.InTx(ctx, func(tx db.Tx) error {
		if personID == "" {
			if err := insertIdentity(ctx, tx, who, hash); err != nil {
				return err
			}
		}
		if err := setOperator(ctx, tx, who.Account.ID); err != nil {
			return err
		}
		return s.Record(ctx, tx, Entry{At: now, Action: "account.make_operator", Subject: who.Account.ID, Detail: map[string]string{"person": who.Person.ID}})
	})
	if err != nil {
		return Identity{}, err
	}
	who.Account.Operator = true
	return who, nil
}
