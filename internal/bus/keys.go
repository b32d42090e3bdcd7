package bus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// The limits of one host's connection.
const (
	maxPayload       = 8 << 20 // opened rows of a benchmark are the largest
	maxSubscriptions = 16
)

// seeds is what the key file holds. Whoever has it can be any host.
type seeds struct {
	Operator string `json:"operator"`
	System   string `json:"system"`
	Hosts    string `json:"hosts"` // the account of hosts and platform
	Signer   string `json:"signer"`
	Control  string `json:"control"` // the platform's own user
}

// keys are the key pairs of the bus.
type keys struct {
	operator, system, hosts, signer, control pair
	controlSeed                              string
}

// pair is a key pair with its public half.
type pair struct {
	nkeys.KeyPair
	public string
}

// loadKeys reads the key file, or makes it when there is none. Two processes that make it at once agree on one.
func loadKeys(path string) (*keys, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKeys(path); err != nil {
			return nil, err
		}
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("bus: keys: %w", err)
	}
	var s seeds
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("bus: keys in %s: %w", path, err)
	}
	k := &keys{controlSeed: s.Control}
	for _, e := range []struct {
		to   *pair
		seed string
	}{{&k.operator, s.Operator}, {&k.system, s.System}, {&k.hosts, s.Hosts}, {&k.signer, s.Signer}, {&k.control, s.Control}} {
		if e.to.KeyPair, err = nkeys.FromSeed([]byte(e.seed)); err != nil {
			return nil, fmt.Errorf("bus: keys in %s: %w", path, err)
		}
		if e.to.public, err = e.to.PublicKey(); err != nil {
			return nil, fmt.Errorf("bus: keys in %s: %w", path, err)
		}
	}
	return k, nil
}

// makeKeys writes a new key file whole or not at all, and leaves one alone that is there by then.
func makeKeys(path string) error {
	var s seeds
	for _, e := range []struct {
		to   *string
		make func() (nkeys.KeyPair, error)
	}{
		{&s.Operator, nkeys.CreateOperator},
		{&s.System, nkeys.CreateAccount},
		{&s.Hosts, nkeys.CreateAccount},
		{&s.Signer, nkeys.CreateAccount},
		{&s.Control, nkeys.CreateUser},
	} {
		p, err := e.make()
		if err != nil {
			return fmt.Errorf("bus: make keys: %w", err)
		}
		seed, err := p.Seed()
		if err != nil {
			return fmt.Errorf("bus: make keys: %w", err)
		}
		*e.to = string(seed)
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("bus: make keys: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".bus-keys-*") // 0600
	if err != nil {
		return fmt.Errorf("bus: make keys: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already once it is in place
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("bus: make keys: %w", err)
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("bus: make keys: %w", err)
	}
	return nil
}

// operatorJWT names who signs accounts.
func (k *keys) operatorJWT() (string, error) {
	c := jwt.NewOperatorClaims(k.operator.public)
	c.Name, c.SystemAccount = "gpunex", k.system.public
	return c.Encode(k.operator)
}

func (k *keys) systemJWT() (string, error) {
	c := jwt.NewAccountClaims(k.system.public)
	c.Name = "SYS"
	return c.Encode(k.operator)
}

// hostsJWT is the account with the permissions of a named host, and the keys that may no longer connect.
func (k *keys) hostsJWT(revoked jwt.RevocationList) (string, error) {
	c := jwt.NewAccountClaims(k.hosts.public)
	c.Name = "HOSTS"
	scope := jwt.NewUserScope()
	scope.Key, scope.Role = k.signer.public, "host"
	scope.Template.Pub.Allow = jwt.StringList{"a.{{name()}}.>"}
	scope.Template.Sub.Allow = jwt.StringList{"c.{{name()}}.>", "_INBOX.{{name()}}.>"}
	scope.Template.Resp = &jwt.ResponsePermission{MaxMsgs: 1, Expires: time.Minute}
	scope.Template.Subs, scope.Template.Payload = maxSubscriptions, maxPayload
	c.SigningKeys.AddScopedSigner(scope)
	c.Revocations = revoked
	return c.Encode(k.operator)
}

// hostJWT lets a host's key act as the host until expires.
func (k *keys) hostJWT(host, publicKey string, expires time.Time) (string, error) {
	c := jwt.NewUserClaims(publicKey)
	c.Name, c.IssuerAccount, c.Expires = host, k.hosts.public, expires.Unix()
	c.SetScoped(true)
	return c.Encode(k.signer)
}

// controlJWT lets the platform act in one of the two accounts.
func (k *keys) controlJWT(account pair) (string, error) {
	c := jwt.NewUserClaims(k.control.public)
	c.Name = "gpunexd"
	return c.Encode(account)
}
