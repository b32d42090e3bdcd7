package fleet

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/id"
)

// tokenPrefix lets people and scanners of leaked secrets see what a token is.
const tokenPrefix = "gpx_"

// Issue makes an enrolment token, in the caller's transaction (or the pool), and gives its secret: only its hash is
// kept. Fault: token_hosts_invalid.
func (s *Service) Issue(ctx context.Context, q db.Querier, now time.Time, provider string, maxHosts int) (secret string, err error) {
	if maxHosts < 1 {
		return "", fault.New(fault.Invalid, "token_hosts_invalid", "An enrolment token needs room for at least one host")
	}
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	secret = tokenPrefix + hex.EncodeToString(b[:])
	t := Token{ID: id.New(id.Token), Hint: secret[len(secret)-4:], CreatedAt: now, ExpiresAt: now.Add(s.cfg.TokenTTL), MaxHosts: maxHosts}
	if err := insertToken(ctx, q, provider, hash(secret), t); err != nil {
		return "", fmt.Errorf("fleet: issue a token: %w", err)
	}
	return secret, nil
}

// hash is what is kept of a secret. It has 256 random bits: nothing slower is needed.
func hash(secret string) []byte {
	h := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	return h[:]
}

// Tokens lists a provider's tokens, newest first.
func (s *Service) Tokens(ctx context.Context, provider string) ([]Token, error) {
	return tokensOf(ctx, s.db, provider)
}

// Revoke ends a token; hosts that it has enrolled stay. Revoking again changes nothing. Fault: token_not_found.
func (s *Service) Revoke(ctx context.Context, now time.Time, provider, tokenID string) error {
	found, err := revokeToken(ctx, s.db, now, provider, tokenID)
	if err != nil {
		return fmt.Errorf("fleet: revoke a token: %w", err)
	}
	if !found {
		return tokenNotFound()
	}
	return nil
}
