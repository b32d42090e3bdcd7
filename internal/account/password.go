package account

import (
	"context"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"golang.org/x/text/unicode/norm"

	"github.com/gpunex/gpunex/internal/fault"
)

// Lengths of passwords, in characters.
const (
	minPassword = 10
	maxPassword = 200
)

// maxHashes is how many passwords are hashed at once: they take 19 MiB each, and signing in must not be a way to take
// all memory of the machine.
const maxHashes = 4

// argon is OWASP's first choice for argon2id.
var argon = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// nobody is the hash that a password is compared with when there is no such person, so that it takes as long. It is of
// the parameters above, and no password has it: its key is zero.
const nobody = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

func checkPassword(form fault.Form, password string) {
	switch n := utf8.RuneCountInString(password); {
	case n < minPassword:
		form.Add("password", "password_short", "Choose a password of at least 10 characters")
	case n > maxPassword:
		form.Add("password", "password_long", "Choose a password of at most 200 characters")
	}
}

// hash takes some 30 ms and waits for its turn.
func (s *Service) hash(ctx context.Context, password string) (string, error) {
	if err := s.hashes.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer s.hashes.Release(1)
	return argon2id.CreateHash(norm.NFC.String(password), argon) // keyboards differ in how they compose an é
}

// matches takes as long as hash whatever the answer.
func (s *Service) matches(ctx context.Context, password, hash string) (bool, error) {
	if err := s.hashes.Acquire(ctx, 1); err != nil {
		return false, err
	}
	defer s.hashes.Release(1)
	return argon2id.ComparePasswordAndHash(norm.NFC.String(password), hash)
}
