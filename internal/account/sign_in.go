package account

import (
	"context"
	"errors"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
)

// SignIn checks a password. Fault: sign_in_failed, the same for an unknown email and a wrong password, and as late.
func (s *Service) SignIn(ctx context.Context, _ time.Time, email, password string) (Identity, error) {
	failed := fault.New(fault.Unsigned, "sign_in_failed", "Email or password is wrong")
	if len(password) > 4*maxPassword {
		return Identity{}, failed // nobody has such a password, and hashing it would be work for nothing
	}
	hash, personID := nobody, ""
	if parsed, ok := ParseEmail(email); ok {
		c, err := findCredential(ctx, s.db, parsed)
		switch {
		case err == nil:
			hash, personID = c.PasswordHash, c.ID
		case !errors.Is(err, db.ErrNoRow):
			return Identity{}, err
		}
	}
	ok, err := s.matches(ctx, password, hash)
	if err != nil {
		return Identity{}, err
	}
	if !ok || personID == "" {
		return Identity{}, failed
	}
	return s.Identify(ctx, personID)
}
