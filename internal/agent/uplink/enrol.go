package uplink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/gpunex/gpunex/internal/protocol"
)

// errNoToken is what a host hears that has neither a credential nor a token.
var errNoToken = errors.New("this host isn't enrolled yet and there is no enrolment token: make one on the platform's " +
	"provider pages and give it as GPUNEX_TOKEN or with --token-file")

// Enrolment is a host's membership of a platform.
type Enrolment struct {
	Platform string // URL
	Dir      string
	Version  string
	Hostname string
	// Token is asked only if the host isn't enrolled yet.
	Token func() (string, error)
	Now   func() time.Time
	HTTP  *http.Client
}

// Credential is the host's credential: the kept one, or a fresh one from the platform if there is none, it is about to
// expire, or a fresh one is asked for. While the platform is away, the kept one does until it expires.
func (e Enrolment) Credential(ctx context.Context, fresh bool) (protocol.Credential, error) {
	s := state{e.Dir}
	pair, err := s.key()
	if err != nil {
		return protocol.Credential{}, err
	}
	k, enrolled, err := s.credential()
	switch {
	case err != nil:
		return protocol.Credential{}, err
	case !enrolled:
		return e.enrol(ctx, s, pair)
	case !fresh && e.Now().Before(renewAt(k)):
		return k.Credential, nil
	}
	c, err := e.renew(ctx, s, pair, k)
	if err != nil && e.Now().Before(k.Expires) && !errors.As(err, new(*protocol.Refusal)) {
		return k.Credential, nil
	}
	return c, err
}

// renewAt is after two thirds of a credential's life.
func renewAt(k kept) time.Time {
	return k.Expires.Add(-k.Expires.Sub(k.Obtained) / 3)
}

func (e Enrolment) enrol(ctx context.Context, s state, pair nkeys.KeyPair) (protocol.Credential, error) {
	token := ""
	if e.Token != nil {
		var err error
		if token, err = e.Token(); err != nil {
			return protocol.Credential{}, err
		}
	}
	if token = strings.TrimSpace(token); token == "" {
		return protocol.Credential{}, errNoToken
	}
	public, err := pair.PublicKey()
	if err != nil {
		return protocol.Credential{}, fmt.Errorf("the host's key: %w", err)
	}
	var c protocol.Credential
	err = e.post(ctx, protocol.EnrolPath, protocol.EnrolRequest{
		Protocol: protocol.Version, AgentVersion: e.Version, Token: token, PublicKey: public,
		Hostname: e.Hostname, HostTime: e.Now(),
	}, &c)
	if err != nil {
		return protocol.Credential{}, fmt.Errorf("enrol: %w", err)
	}
	return c, s.keep(kept{c, e.Now()})
}

func (e Enrolment) renew(ctx context.Context, s state, pair nkeys.KeyPair, old kept) (protocol.Credential, error) {
	now := e.Now()
	signature, err := pair.Sign(protocol.RenewPayload(old.Host, now))
	if err != nil {
		return protocol.Credential{}, fmt.Errorf("renew: %w", err)
	}
	var c protocol.Credential
	err = e.post(ctx, protocol.RenewPath, protocol.RenewRequest{
		Protocol: protocol.Version, Host: old.Host, HostTime: now, Signature: signature,
	}, &c)
	if err != nil {
		return protocol.Credential{}, fmt.Errorf("renew: %w", err)
	}
	return c, s.keep(kept{c, now})
}

// post sends one request; a refusal comes back as *protocol.Refusal, whose sentence is for the person at the host.
func (e Enrolment) post(ctx context.Context, path string, in any, c *protocol.Credential) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(e.Platform, "/")+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the platform's URL: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := e.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("the platform can't be reached; check its address and this host's way out: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("the platform's answer: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		if err := json.Unmarshal(answer, c); err != nil || c.Host == "" || c.JWT == "" || c.BusURL == "" {
			return fmt.Errorf("%s doesn't answer like a GPUnex platform; check the address (%w)", e.Platform, errors.Join(err, errors.New("no credential in the answer")))
		}
		return nil
	}
	var r protocol.Refusal
	if resp.StatusCode/100 == 4 && json.Unmarshal(answer, &r) == nil && r.Text != "" {
		return &r
	}
	return fmt.Errorf("%s answered %s; is it a GPUnex platform?", e.Platform, resp.Status)
}
