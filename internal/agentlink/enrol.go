package agentlink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/protocol"
)

// maxBody is more than any enrolment or renewal.
const maxBody = 64 << 10

// Routes adds enrolment and renewal to a mux.
func (l *Link) Routes(mux *http.ServeMux) {
	mux.Handle("POST "+protocol.EnrolPath, exchange(l, l.Enrol))
	mux.Handle("POST "+protocol.RenewPath, exchange(l, l.Renew))
}

// Enrol exchanges an enrolment token for a host's first credential.
func (l *Link) Enrol(ctx context.Context, now time.Time, r protocol.EnrolRequest) (protocol.Credential, error) {
	// Before the token is used: a host without a usable key could never connect.
	if !nkeys.IsValidPublicUserKey(r.PublicKey) {
		return protocol.Credential{}, fault.New(fault.Invalid, "key_invalid", "The host's public key can't be read. Install the newest agent and enrol again")
	}
	h, err := l.fleet.Enrol(ctx, now, r)
	if err != nil {
		return protocol.Credential{}, err
	}
	return l.credential(now, h)
}

// Renew gives a host that proves its key a fresh credential. Faults: protocol_old, clock_off, renewal_refused.
func (l *Link) Renew(ctx context.Context, now time.Time, r protocol.RenewRequest) (protocol.Credential, error) {
	if err := fleet.CheckPeer(now, r.Protocol, r.HostTime); err != nil {
		return protocol.Credential{}, err
	}
	h, err := l.fleet.Host(ctx, text(r.Host, maxName))
	if err != nil && !fault.Is(err, "host_not_found") {
		return protocol.Credential{}, err
	}
	// A stranger learns nothing about which hosts exist.
	if err != nil || h.RetiredAt != nil || !signed(h.PublicKey, r) {
		return protocol.Credential{}, fault.New(fault.Forbidden, "renewal_refused",
			"The platform doesn't know this host or its key. Remove the agent's data on this machine and enrol it again")
	}
	return l.credential(now, h)
}

func signed(publicKey string, r protocol.RenewRequest) bool {
	key, err := nkeys.FromPublicKey(publicKey)
	return err == nil && key.Verify(protocol.RenewPayload(r.Host, r.HostTime), r.Signature) == nil
}

func (l *Link) credential(now time.Time, h fleet.Host) (protocol.Credential, error) {
	if l.bus == nil {
		return protocol.Credential{}, errors.New("agentlink: no bus to sign for")
	}
	token, expires, err := l.bus.Credential(h.ID, h.PublicKey, now, credentialTTL)
	if err != nil {
		return protocol.Credential{}, fmt.Errorf("agentlink: credential: %w", err)
	}
	url := l.public
	if url == "" {
		url = l.bus.URL()
	}
	return protocol.Credential{Host: h.ID, JWT: token, BusURL: url, Expires: expires}, nil
}

// exchange is one request over HTTP. A refusal answers with its sentence; anything else that goes wrong is logged and
// answered with nothing but a status.
func exchange[In any](l *Link, answer func(context.Context, time.Time, In) (protocol.Credential, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&in); err != nil {
			write(w, http.StatusBadRequest, protocol.Refusal{Code: "malformed", Text: "The platform can't read the message: " + text(err.Error(), maxMessage)})
			return
		}
		c, err := answer(r.Context(), time.Now(), in)
		if err == nil {
			write(w, http.StatusOK, c)
			return
		}
		if f, ok := fault.As(err); ok {
			l.log.Warn("a host was refused", "path", r.URL.Path, "code", f.Code)
			write(w, status(f.Kind), protocol.Refusal{Code: f.Code, Text: f.Error()})
			return
		}
		l.log.Error("a host got no credential", "path", r.URL.Path, "error", err)
		http.Error(w, "The platform has a problem; the agent tries again by itself", http.StatusInternalServerError)
	})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // whoever left can't be told
}

func status(k fault.Kind) int {
	switch k {
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	case fault.Forbidden, fault.Unsigned, fault.Funds:
		return http.StatusForbidden
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Invalid:
	}
	return http.StatusBadRequest
}
