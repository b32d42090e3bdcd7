package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Config says which bus.
type Config struct {
	Dir    string // data directory; keys are made here once
	Listen string // of the embedded server, as in 127.0.0.1:4222; port 0 takes a free one
	URL    string // of a cluster elsewhere; empty: the embedded server
	Public string // how hosts reach the bus; empty: Listen or URL
	Log    *slog.Logger
}

// Bus is a connection to the hosts.
type Bus struct {
	keys     *keys
	embedded *server.Server // nil for a cluster elsewhere
	conn     *nats.Conn     // in the account of the hosts
	system   *nats.Conn     // may change accounts
	url      string
	log      *slog.Logger
	revoking sync.Mutex
}

const (
	keyFile     = "bus-keys.json"
	clusterFile = "bus-cluster.conf"
)

// Start connects to the cluster at the URL, or starts the embedded server. For a cluster it also writes what the
// cluster's configuration needs into the data directory.
func Start(ctx context.Context, cfg Config) (*Bus, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("bus: data directory: %w", err)
	}
	k, err := loadKeys(filepath.Join(cfg.Dir, keyFile))
	if err != nil {
		return nil, err
	}
	b := &Bus{keys: k, url: cfg.URL, log: cfg.Log}
	if cfg.URL == "" {
		if b.embedded, err = embed(k, cfg.Dir, cfg.Listen); err != nil {
			return nil, err
		}
		b.url = b.embedded.ClientURL()
	} else if err := writeCluster(k, filepath.Join(cfg.Dir, clusterFile)); err != nil {
		return nil, err
	}
	if b.conn, err = b.connect(ctx, k.hosts); err == nil {
		b.system, err = b.connect(ctx, k.system)
	}
	if err != nil {
		b.Close()
		if cfg.URL != "" {
			return nil, fmt.Errorf("%w; the cluster must include %s from the data directory", err, clusterFile)
		}
		return nil, err
	}
	if cfg.Public != "" {
		b.url = cfg.Public
	}
	return b, nil
}

func writeCluster(k *keys, path string) error {
	conf, err := clusterConfig(k)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		return fmt.Errorf("bus: cluster configuration: %w", err)
	}
	return nil
}

// connect joins an account as the platform.
func (b *Bus) connect(ctx context.Context, account pair) (*nats.Conn, error) {
	token, err := b.keys.controlJWT(account)
	if err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	opts := []nats.Option{
		nats.Name("gpunexd"), nats.UserJWTAndSeed(token, b.keys.controlSeed), nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond), nats.ReconnectJitter(500*time.Millisecond, 500*time.Millisecond),
		nats.DrainTimeout(10 * time.Second),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				b.log.Warn("the bus is away and will be tried again", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { b.log.Info("the bus is back") }),
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) {
			subject := ""
			if s != nil {
				subject = s.Subject
			}
			b.log.Error("the bus lost messages or refused one", "subject", subject, "error", err)
		}),
	}
	if b.embedded != nil {
		opts = append(opts, nats.InProcessServer(b.embedded))
	}
	if deadline, ok := ctx.Deadline(); ok {
		opts = append(opts, nats.Timeout(time.Until(deadline)))
	}
	c, err := nats.Connect(b.url, opts...)
	if err != nil {
		return nil, fmt.Errorf("bus: connect: %w", err)
	}
	return c, nil
}

// URL is how hosts reach the bus.
func (b *Bus) URL() string { return b.url }

// ErrKey says that a public key isn't a host's.
var ErrKey = errors.New("bus: not the public key of a user")

// Credential lets the holder of a public key be the host for ttl from now. It expires at a whole second.
func (b *Bus) Credential(host, publicKey string, now time.Time, ttl time.Duration) (token string, expires time.Time, err error) {
	if !nkeys.IsValidPublicUserKey(publicKey) {
		return "", time.Time{}, ErrKey
	}
	if !plainToken(host) {
		return "", time.Time{}, fmt.Errorf("bus: %q can't name a host", host)
	}
	expires = now.Add(ttl).Truncate(time.Second)
	token, err = b.keys.hostJWT(host, publicKey, expires)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("bus: credential: %w", err)
	}
	return token, expires, nil
}

// plainToken says whether s is one token of a subject: wildcards and dots in a host's name would widen its permissions.
func plainToken(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return false
		}
	}
	return s != ""
}

// Close delivers what is under way, then disconnects and stops the embedded server.
func (b *Bus) Close() {
	for _, c := range []*nats.Conn{b.conn, b.system} {
		if c == nil {
			continue
		}
		closed := c.StatusChanged(nats.CLOSED)
		if err := c.Drain(); err != nil {
			c.Close()
			continue
		}
		<-closed
	}
	if b.embedded != nil {
		b.embedded.Shutdown()
		b.embedded.WaitForShutdown()
	}
}
