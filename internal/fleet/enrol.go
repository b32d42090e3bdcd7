package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/id"
	"github.com/gpunex/gpunex/internal/protocol"
)

// Enrol exchanges a token for a host. Enrolling the same key again for the same provider gives the same host and takes
// nothing from the token, even when it has expired meanwhile.
// Faults: token_unknown, token_used, token_expired, token_revoked, hosts_full, clock_off, protocol_old, key_invalid,
// key_taken (a key of another provider's host).
func (s *Service) Enrol(ctx context.Context, now time.Time, r protocol.EnrolRequest) (Host, error) {
	if f := checkPeer(now, r.Protocol, r.HostTime); f != nil {
		return Host{}, f
	}
	if key := clean(r.PublicKey, 128); key == "" || key != r.PublicKey {
		return Host{}, keyInvalid()
	}
	var host Host
	err := s.db.InTx(ctx, func(tx db.Tx) (err error) {
		host, err = enrol(ctx, tx, now, r)
		return err
	})
	return host, err
}

func enrol(ctx context.Context, tx db.Tx, now time.Time, r protocol.EnrolRequest) (Host, error) {
	t, err := lockToken(ctx, tx, hash(r.Token))
	switch {
	case errors.Is(err, db.ErrNoRow):
		return Host{}, tokenUnknown()
	case err != nil:
		return Host{}, fmt.Errorf("fleet: enrol: %w", err)
	case t.RevokedAt != nil:
		return Host{}, tokenRevoked()
	}
	if h, err := again(ctx, tx, t, r); !errors.Is(err, db.ErrNoRow) {
		return h, err
	}
	if !now.Before(t.ExpiresAt) {
		return Host{}, tokenExpired(t.ExpiresAt)
	}
	if t.Used >= t.MaxHosts {
		return Host{}, tokenUsed(t.MaxHosts)
	}
	// The provider's row is locked: two tokens of one provider can't both take its last place.
	p, err := lockProvider(ctx, tx, t.ProviderID)
	if err != nil {
		return Host{}, fmt.Errorf("fleet: enrol: %w", err)
	}
	if p.Hosts >= p.MaxHosts {
		return Host{}, hostsFull(p.MaxHosts)
	}
	h := Host{ID: id.New(id.Host), ProviderID: t.ProviderID, Name: hostName(r.Hostname), PublicKey: r.PublicKey,
		AgentVersion: clean(r.AgentVersion, 64), City: p.City, Country: p.Country, Region: p.Region, DesiredRevision: 1, EnrolledAt: now}
	made, err := insertHost(ctx, tx, h, t.ID, r.Protocol)
	if err != nil {
		return Host{}, fmt.Errorf("fleet: enrol: %w", err)
	}
	if !made { // the same key was enrolled by another token meanwhile
		return again(ctx, tx, t, r)
	}
	if err := useToken(ctx, tx, t.ID); err != nil {
		return Host{}, fmt.Errorf("fleet: enrol: %w", err)
	}
	return h, nil
}

// again gives the host that this key already is; db.ErrNoRow when it is none.
func again(ctx context.Context, tx db.Tx, t tokenRow, r protocol.EnrolRequest) (Host, error) {
	h, err := hostByKey(ctx, tx, r.PublicKey)
	switch {
	case errors.Is(err, db.ErrNoRow):
		return Host{}, err
	case err != nil:
		return Host{}, fmt.Errorf("fleet: enrol: %w", err)
	case h.ProviderID != t.ProviderID || h.RetiredAt != nil:
		return Host{}, keyTaken()
	}
	h.Name, h.AgentVersion = hostName(r.Hostname), clean(r.AgentVersion, 64)
	if err := renameHost(ctx, tx, h, r.Protocol); err != nil {
		return Host{}, fmt.Errorf("fleet: enrol: %w", err)
	}
	return h, nil
}

func hostName(s string) string {
	if s = clean(s, 64); s == "" {
		return "host"
	}
	return s
}
