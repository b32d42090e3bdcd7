package bus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/gpunex/gpunex/internal/protocol"
)

func start(t *testing.T, cfg Config) *Bus {
	t.Helper()
	if cfg.URL == "" && cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b, err := Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

type key struct{ seed, public string }

func newKey(t *testing.T) key {
	t.Helper()
	p, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := p.Seed()
	if err != nil {
		t.Fatal(err)
	}
	public, err := p.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key{string(seed), public}
}

// peer is a host's side of the bus.
type peer struct {
	*nats.Conn
	errs   chan error
	closed chan struct{}
}

func credential(t *testing.T, b *Bus, host string, k key) string {
	t.Helper()
	token, _, err := b.Credential(host, k.public, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func dial(t *testing.T, b *Bus, host, token string, k key) (*peer, error) {
	t.Helper()
	p := &peer{errs: make(chan error, 64), closed: make(chan struct{})}
	c, err := nats.Connect(b.URL(), nats.UserJWTAndSeed(token, k.seed), nats.CustomInboxPrefix("_INBOX."+host), nats.NoReconnect(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { p.errs <- err }),
		nats.ClosedHandler(func(*nats.Conn) { close(p.closed) }))
	if err != nil {
		return nil, err
	}
	t.Cleanup(c.Close)
	p.Conn = c
	return p, nil
}

func join(t *testing.T, b *Bus, host string) (*peer, key) {
	t.Helper()
	k := newKey(t)
	p, err := dial(t, b, host, credential(t, b, host, k), k)
	if err != nil {
		t.Fatal(err)
	}
	return p, k
}

func TestHostSpeaksAndListens(t *testing.T) {
	b := start(t, Config{Dir: t.TempDir()})
	h1, _ := join(t, b, "hst_1")
	got := make(chan string, 1)
	stop, err := b.Subscribe("a.*.hb", "link", func(m Message) {
		got <- m.Subject
		if err := m.Reply([]byte("well")); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := h1.Request(protocol.HeartbeatSubject("hst_1"), []byte("{}"), 5*time.Second)
	if err != nil || string(r.Data) != "well" || <-got != "a.hst_1.hb" {
		t.Fatalf("%v %v", r, err)
	}
	stop()
	if _, err := h1.Request("a.hst_1.hb", nil, 5*time.Second); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("after stop: %v", err)
	}
	sub, err := h1.SubscribeSync(protocol.HintSubject("hst_1"))
	if err != nil || h1.Flush() != nil {
		t.Fatal(err)
	}
	b.Hint("hst_1")
	if _, err := sub.NextMsg(5 * time.Second); err != nil {
		t.Errorf("hint: %v", err)
	}
	b.Hint("hst_1.>") // not a host: nothing is sent
}

func TestHostsAreIsolated(t *testing.T) {
	b := start(t, Config{Dir: t.TempDir()})
	h1, _ := join(t, b, "h1")
	// The server refuses before it answers the ping of Flush, so what was refused is known then.
	refused := func() bool {
		if err := h1.Flush(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-h1.errs:
			return errors.Is(err, nats.ErrPermissionViolation)
		case <-time.After(2 * time.Second):
			return false
		}
	}
	for _, s := range []string{"c.h2.>", "c.*.>", "c.>", ">", "*.*.*", "a.*.hb", "a.h1.hb", "$SYS.>", "_INBOX.h2.>", "_INBOX.>", "$JS.API.>"} {
		sub, err := h1.SubscribeSync(s)
		if err != nil {
			t.Fatal(err)
		}
		if !refused() {
			t.Errorf("h1 may listen on %s", s)
		}
		_ = sub.Unsubscribe()
	}
	for _, s := range []string{"a.h2.hb", "c.h2.desired", "c.h1.desired", "_INBOX.h2.x", "$JS.API.STREAM.LIST", "$SYS.REQ.ACCOUNT.PING", "$SYS.REQ.CLAIMS.UPDATE"} {
		if err := h1.Publish(s, nil); err != nil {
			t.Fatal(err)
		}
		if !refused() {
			t.Errorf("h1 may publish on %s", s)
		}
	}
	if !h1.IsConnected() {
		t.Error("h1 was cut")
	}
}

func TestOnlyTheKeysHolderConnects(t *testing.T) {
	b := start(t, Config{Dir: t.TempDir()})
	k, thief := newKey(t), newKey(t)
	token := credential(t, b, "h1", k)
	if _, err := dial(t, b, "h1", token, thief); err == nil {
		t.Error("another key connects with the credential")
	}
	old, _, err := b.Credential("h1", k.public, time.Now().Add(-2*time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, b, "h1", old, k); err == nil {
		t.Error("an expired credential connects")
	}
	if _, err := nats.Connect(b.URL()); err == nil {
		t.Error("nobody connects")
	}
	if _, _, err := b.Credential("h1", "nonsense", time.Now(), time.Hour); !errors.Is(err, ErrKey) {
		t.Errorf("nonsense as a key: %v", err)
	}
	for _, host := range []string{"", "*", "h1.>", "a b", ">"} {
		if _, _, err := b.Credential(host, k.public, time.Now(), time.Hour); err == nil {
			t.Errorf("a credential for %q", host)
		}
	}
}

func TestRevokedIsCut(t *testing.T) {
	dir := t.TempDir()
	b := start(t, Config{Dir: dir})
	h1, k1 := join(t, b, "h1")
	h2, k2 := join(t, b, "h2")
	h3, _ := join(t, b, "h3")
	token1, token2 := credential(t, b, "h1", k1), credential(t, b, "h2", k2)
	for _, k := range []key{k1, k2} { // twice in one second
		if err := b.Revoke(k.public); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range []*peer{h1, h2} {
		select {
		case <-h.closed:
		case <-time.After(5 * time.Second):
			t.Fatal("a revoked host stays connected")
		}
	}
	if err := h3.Flush(); err != nil {
		t.Errorf("another host was cut: %v", err)
	}
	b.Close()
	again := start(t, Config{Dir: dir})
	for host, c := range map[string]struct {
		token string
		k     key
	}{"h1": {token1, k1}, "h2": {token2, k2}} {
		if _, err := dial(t, again, host, c.token, c.k); err == nil {
			t.Errorf("%s: a revoked credential connects after a restart", host)
		}
	}
}

func TestRestartKeepsCredentials(t *testing.T) {
	dir := t.TempDir()
	b := start(t, Config{Dir: dir})
	k := newKey(t)
	token := credential(t, b, "h1", k)
	b.Close()
	st, err := os.Stat(filepath.Join(dir, keyFile))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("key file: %v %v", st, err)
	}
	again := start(t, Config{Dir: dir})
	if _, err := dial(t, again, "h1", token, k); err != nil {
		t.Errorf("an old credential: %v", err)
	}
	other := start(t, Config{Dir: t.TempDir()})
	if _, err := dial(t, other, "h1", token, k); err == nil {
		t.Error("another platform accepts the credential")
	}
}

func TestClusterElsewhere(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := Start(ctx, Config{Dir: dir, URL: "nats://127.0.0.1:1"})
	if err == nil || !strings.Contains(err.Error(), clusterFile) {
		t.Fatalf("a cluster that isn't there: %v", err)
	}
	conf, err := os.ReadFile(filepath.Join(dir, clusterFile))
	if err != nil {
		t.Fatal(err)
	}
	// An operator includes the file beside their own settings.
	cluster := t.TempDir()
	file := filepath.Join(cluster, "nats.conf")
	text := strings.ReplaceAll(string(conf), `dir: "accounts"`, `dir: "`+filepath.Join(cluster, "accounts")+`"`)
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:-1\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	opts.NoSigs, opts.NoLog = true, true
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the cluster doesn't start")
	}
	b := start(t, Config{Dir: dir, URL: s.ClientURL()})
	h1, k := join(t, b, "h1")
	if err := b.Revoke(k.public); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h1.closed:
	case <-time.After(5 * time.Second):
		t.Fatal("a revoked host stays connected")
	}
	if !b.conn.IsConnected() {
		t.Error("the platform was cut")
	}
}

func TestStartRefuses(t *testing.T) {
	for _, listen := range []string{"", "4222", "127.0.0.1:x", "127.0.0.1:70000"} {
		if b, err := Start(t.Context(), Config{Dir: t.TempDir(), Listen: listen}); err == nil {
			b.Close()
			t.Errorf("listens on %q", listen)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, keyFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := Start(t.Context(), Config{Dir: dir, Listen: "127.0.0.1:0"}); err == nil {
		b.Close()
		t.Error("starts with a broken key file")
	}
}
