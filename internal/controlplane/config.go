package controlplane

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/money"
)

// Role is one part of the platform that a process may run.
type Role string

// The roles. A relay comes with customer access.
const (
	RoleWeb    Role = "web"    // pages
	RoleLink   Role = "link"   // speaks with hosts
	RoleWorker Role = "worker" // timed and queued tasks
)

// Config is everything that can be set.
type Config struct {
	DataDir     string // private PostgreSQL, bus keys
	Listen      string // address of the pages, as in :8080
	PublicURL   string // how people and hosts reach it, as in https://gpunex.example; empty: localhost and the port of Listen
	DatabaseURL string // empty: the built-in PostgreSQL
	BusURL      string // empty: the embedded bus
	BusListen   string // address of the embedded bus, as in 127.0.0.1:4222
	BusPublic   string // how hosts reach the bus; empty: as it listens
	SMTP        string // smtp://user:password@host:port?from=…; empty: mails stay in the outbox
	Roles       []Role
	Dev         bool // operators may hand out test money and read the outbox

	HeartbeatInterval time.Duration
	Unreachable       time.Duration
	Lost              time.Duration
	SettleEvery       time.Duration
	Maturity          time.Duration
	TokenTTL          time.Duration
	QuoteTTL          time.Duration
	BenchmarkEvery    time.Duration
	BenchmarkSize     int
	PayoutMinimum     money.Micro
	FeeBPS            int

	Log *slog.Logger
}

// Default is what holds unless it is set.
func Default() Config {
	return Config{
		DataDir: "/var/lib/gpunex", Listen: ":8080", BusListen: "127.0.0.1:4222",
		Roles:             []Role{RoleWeb, RoleLink, RoleWorker},
		HeartbeatInterval: 10 * time.Second, Unreachable: 30 * time.Second, Lost: 10 * time.Minute,
		SettleEvery: 5 * time.Minute, Maturity: 24 * time.Hour,
		TokenTTL: 14 * 24 * time.Hour, QuoteTTL: 2 * time.Minute,
		BenchmarkEvery: 7 * 24 * time.Hour, BenchmarkSize: 256,
		PayoutMinimum: 50 * money.USDC, FeeBPS: 1000,
		Log: slog.New(slog.DiscardHandler),
	}
}

// Check finds every mistake at once and fills in what follows from the rest.
func (c *Config) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	abs, err := filepath.Abs(c.DataDir)
	if err != nil || c.DataDir == "" {
		bad("data directory %q: name a folder, as in --data /var/lib/gpunex", c.DataDir)
	}
	c.DataDir = abs
	if c.PublicURL != "" {
		c.PublicURL = strings.TrimRight(c.PublicURL, "/")
		if u, err := url.Parse(c.PublicURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			bad("public URL %q: write how people reach the platform, as in https://gpunex.example", c.PublicURL)
		}
	}
	for _, r := range c.Roles {
		if r != RoleWeb && r != RoleLink && r != RoleWorker {
			bad("role %q: the roles are web, link and worker", r)
		}
	}
	if c.Unreachable < 2*c.HeartbeatInterval {
		bad("unreachable after %v: it must be at least twice the heartbeat interval of %v, or each lost beat stops billing", c.Unreachable, c.HeartbeatInterval)
	}
	if c.FeeBPS < 0 || c.FeeBPS > 10_000 {
		bad("fee %d: it is in hundredths of a percent, 0 to 10000", c.FeeBPS)
	}
	if c.BenchmarkSize%8 != 0 || c.BenchmarkSize < 64 || c.BenchmarkSize > 4096 {
		bad("benchmark size %d: a multiple of 8 from 64 to 4096", c.BenchmarkSize)
	}
	return errors.Join(errs...)
}
