package uplink_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/gpunex/gpunex/internal/agent/uplink"
	"github.com/gpunex/gpunex/internal/protocol"
)

const host = "hst_1"

// world is a platform's bus and its enrolment, with real credentials.
type world struct {
	t          *testing.T
	bus        *server.Server
	http       *httptest.Server
	account    nkeys.KeyPair
	operator   nkeys.KeyPair
	accountJWT string
	conn       *nats.Conn // the platform's own

	mu      sync.Mutex
	life    time.Duration
	refusal *protocol.Refusal
	public  string
	posts   []string
	token   string
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, life: time.Hour}
	operator := must[nkeys.KeyPair](t)(nkeys.CreateOperator())
	w.operator = operator
	w.account = must[nkeys.KeyPair](t)(nkeys.CreateAccount())
	operatorKey, accountKey := must[string](t)(operator.PublicKey()), must[string](t)(w.account.PublicKey())
	operatorClaims := must[*jwt.OperatorClaims](t)(jwt.DecodeOperatorClaims(must[string](t)(jwt.NewOperatorClaims(operatorKey).Encode(operator))))
	resolver := &server.MemAccResolver{}
	w.accountJWT = must[string](t)(jwt.NewAccountClaims(accountKey).Encode(operator))
	if err := resolver.Store(accountKey, w.accountJWT); err != nil {
		t.Fatal(err)
	}
	w.bus = must[*server.Server](t)(server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, TrustedOperators: []*jwt.OperatorClaims{operatorClaims}, AccountResolver: resolver,
	}))
	w.bus.Start()
	t.Cleanup(w.bus.Shutdown)
	if !w.bus.ReadyForConnections(10 * time.Second) {
		t.Fatal("bus isn't ready")
	}
	own := must[nkeys.KeyPair](t)(nkeys.CreateUser())
	claims := jwt.NewUserClaims(must[string](t)(own.PublicKey()))
	token := must[string](t)(claims.Encode(w.account))
	w.conn = must[*nats.Conn](t)(nats.Connect(w.bus.ClientURL(), nats.UserJWT(func() (string, error) { return token, nil }, own.Sign)))
	t.Cleanup(w.conn.Close)
	w.http = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.http.Close)
	return w
}

func (w *world) credential() protocol.Credential {
	claims := jwt.NewUserClaims(w.public)
	expires := time.Now().Add(w.life)
	claims.Expires = expires.Unix()
	claims.Permissions.Pub.Allow = jwt.StringList{"a." + host + ".>"}
	claims.Permissions.Sub.Allow = jwt.StringList{"c." + host + ".>", "_INBOX." + host + ".>"}
	token, err := claims.Encode(w.account)
	if err != nil {
		w.t.Error(err)
	}
	return protocol.Credential{Host: host, JWT: token, BusURL: w.bus.ClientURL(), Expires: expires}
}

func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posts = append(w.posts, r.URL.Path)
	if w.refusal != nil {
		rw.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(rw).Encode(w.refusal)
		return
	}
	switch r.URL.Path {
	case protocol.EnrolPath:
		var m protocol.EnrolRequest
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.public, w.token = m.PublicKey, m.Token
	case protocol.RenewPath:
		var m protocol.RenewRequest
		_ = json.NewDecoder(r.Body).Decode(&m)
		key, err := nkeys.FromPublicKey(w.public)
		if err != nil || key.Verify(protocol.RenewPayload(m.Host, m.HostTime), m.Signature) != nil {
			rw.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(rw).Encode(protocol.Refusal{Code: "signature", Text: "The signature is wrong."})
			return
		}
	}
	_ = json.NewEncoder(rw).Encode(w.credential())
}

func (w *world) enrolment(dir, token string) uplink.Enrolment {
	return uplink.Enrolment{
		Platform: w.http.URL + "/", Dir: dir, Version: "test", Hostname: "box", Now: time.Now,
		Token: func() (string, error) { return token, nil },
	}
}

func await(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(15 * time.Second):
		t.Fatalf("not within 15 s: %s", what)
	}
}

func (w *world) connect(dir string) (*uplink.Link, chan struct{}, chan struct{}) {
	w.t.Helper()
	hints, connections := make(chan struct{}, 10), make(chan struct{}, 10)
	link, err := uplink.Connect(w.t.Context(), w.enrolment(dir, "tok_1"), uplink.Events{
		Hint: func() { hints <- struct{}{} }, Reconnected: func() { connections <- struct{}{} },
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(link.Close)
	await(w.t, "connection", connections)
	return link, hints, connections
}

func TestEnrolsAndTalks(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	link, hints, _ := w.connect(dir)
	if link.Host() != host || w.token != "tok_1" {
		t.Errorf("host %q enrolled with %q", link.Host(), w.token)
	}
	for _, name := range []string{"host.nk", "credential.json"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	must[*nats.Subscription](t)(w.conn.Subscribe(protocol.HeartbeatSubject(host), func(m *nats.Msg) {
		_ = m.Respond([]byte(`{"interval_ms":10000,"revision":7}`))
	}))
	if err := w.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	reply, err := link.Heartbeat(t.Context(), protocol.Heartbeat{Complete: true})
	if err != nil || reply.Revision != 7 {
		t.Errorf("heartbeat gave %+v, %v", reply, err)
	}
	if _, err := link.Desired(t.Context(), protocol.DesiredRequest{}); err == nil {
		t.Error("a platform without that subject answered")
	}
	must[*nats.Subscription](t)(w.conn.Subscribe(protocol.DesiredSubject(host), func(m *nats.Msg) { _ = m.Respond([]byte(`{}`)) }))
	if err := w.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if d, err := link.Desired(t.Context(), protocol.DesiredRequest{}); err == nil {
		t.Errorf("an empty answer was taken for a desired state: %+v", d)
	}
	if err := w.conn.Publish(protocol.HintSubject(host), nil); err != nil {
		t.Fatal(err)
	}
	await(t, "hint", hints)
	// The next process needs no token.
	link.Close()
	w.connect(dir)
	if len(w.posts) != 2 || w.posts[1] != protocol.RenewPath {
		t.Errorf("posts: %v", w.posts)
	}
	// And a host that was revoked meanwhile hears so.
	w.mu.Lock()
	w.refusal = &protocol.Refusal{Code: "revoked", Text: "This host was revoked."}
	w.mu.Unlock()
	_, err = uplink.Connect(t.Context(), w.enrolment(dir, ""), uplink.Events{}, slog.New(slog.DiscardHandler))
	if refusal := (*protocol.Refusal)(nil); !errors.As(err, &refusal) || refusal.Code != "revoked" {
		t.Errorf("a revoked host got %v", err)
	}
}

func TestRefusalsAreSentences(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	w.refusal = &protocol.Refusal{Code: "token_used", Text: "This token was used for the last time; make a new one."}
	_, err := w.enrolment(dir, "tok_1").Credential(t.Context(), false)
	var refusal *protocol.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "make a new one") || strings.Contains(err.Error(), "tok_1") {
		t.Errorf("enrolment gave %v", err)
	}
	key := must[[]byte](t)(os.ReadFile(filepath.Join(dir, "host.nk")))
	w.refusal = nil
	if _, err := w.enrolment(dir, "tok_2").Credential(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if again := must[[]byte](t)(os.ReadFile(filepath.Join(dir, "host.nk"))); string(again) != string(key) {
		t.Error("the second try made another key")
	}
	if _, err := w.enrolment(t.TempDir(), "").Credential(t.Context(), false); err == nil || !strings.Contains(err.Error(), "GPUNEX_TOKEN") {
		t.Errorf("without a token: %v", err)
	}
	e := w.enrolment(t.TempDir(), "tok_3")
	e.Platform = "http://127.0.0.1:1"
	if _, err := e.Credential(t.Context(), false); err == nil || !strings.Contains(err.Error(), "can't be reached") {
		t.Errorf("platform away: %v", err)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	e.Platform = other.URL
	if _, err := e.Credential(t.Context(), false); err == nil || !strings.Contains(err.Error(), "GPUnex platform") {
		t.Errorf("not a platform: %v", err)
	}
}

func TestRenewsBeforeExpiry(t *testing.T) {
	w := newWorld(t)
	w.life = 6 * time.Second
	dir := t.TempDir()
	link, _, connections := w.connect(dir)
	w.mu.Lock()
	w.life = time.Hour
	w.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- link.Run(ctx) }()
	await(t, "connection with the fresh credential", connections)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(w.posts) != 2 || w.posts[1] != protocol.RenewPath {
		t.Errorf("posts: %v", w.posts)
	}
	c, err := w.enrolment(dir, "").Credential(t.Context(), false)
	if err != nil || time.Until(c.Expires) < 30*time.Minute {
		t.Errorf("kept credential expires %s, %v", c.Expires, err)
	}
}

// A bus that denies the host makes it ask the platform at once, which gives it a credential that works, or says why not.
func TestDeniedHostAsksThePlatform(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	link, _, connections := w.connect(dir)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- link.Run(ctx) }()
	claims, err := jwt.DecodeAccountClaims(w.accountJWT)
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	public := w.public
	w.mu.Unlock()
	// Revocation counts in whole seconds: what is issued from the next second on is good.
	issued := time.Now().Truncate(time.Second)
	time.Sleep(time.Until(issued.Add(time.Second)))
	claims.RevokeAt(public, issued)
	token := must[string](t)(claims.Encode(w.operator))
	account := must[*server.Account](t)(w.bus.LookupAccount(claims.Subject))
	w.bus.UpdateAccountClaims(account, must[*jwt.AccountClaims](t)(jwt.DecodeAccountClaims(token)))
	await(t, "connection with a credential that isn't revoked", connections)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestPlatformAwayKeepsOldCredential(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	e := w.enrolment(dir, "tok_1")
	first, err := e.Credential(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	w.http.Close()
	e.Now = func() time.Time { return time.Now().Add(50 * time.Minute) } // time to renew, not expired
	if c, err := e.Credential(t.Context(), false); err != nil || c.JWT != first.JWT {
		t.Errorf("credential %v", err)
	}
	e.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	if _, err := e.Credential(t.Context(), false); err == nil {
		t.Error("an expired credential was given")
	}
}
