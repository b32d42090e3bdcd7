package bus

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
)

// answerIn bounds how long the servers may take to change an account.
const answerIn = 5 * time.Second

// Revoke ends all credentials of a public key that were signed up to this second, and cuts its connections. It holds
// across restarts. A credential signed later is valid.
func (b *Bus) Revoke(publicKey string) error {
	b.revoking.Lock()
	defer b.revoking.Unlock()
	r, err := b.system.Request("$SYS.REQ.ACCOUNT."+b.keys.hosts.public+".CLAIMS.LOOKUP", nil, answerIn)
	if err != nil {
		return fmt.Errorf("bus: revoke: %w", err)
	}
	account, err := jwt.DecodeAccountClaims(string(r.Data))
	if err != nil {
		return fmt.Errorf("bus: revoke: the account can't be read: %w", err)
	}
	// The signatures' clock is the machine's, so this one is too.
	account.RevokeAt(publicKey, time.Now())
	token, err := b.keys.hostsJWT(account.Revocations)
	if err != nil {
		return fmt.Errorf("bus: revoke: %w", err)
	}
	if r, err = b.system.Request("$SYS.REQ.CLAIMS.UPDATE", []byte(token), answerIn); err != nil {
		return fmt.Errorf("bus: revoke: %w", err)
	}
	var answer server.ServerAPIClaimUpdateResponse
	if err := json.Unmarshal(r.Data, &answer); err != nil {
		return fmt.Errorf("bus: revoke: %w", err)
	}
	if answer.Error != nil {
		return fmt.Errorf("bus: revoke: %s", answer.Error.Description)
	}
	return nil
}
