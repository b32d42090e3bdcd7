package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/db/dbtest"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/protocol"
)

var monday = time.Date(2026, 12, 7, 9, 0, 0, 0, time.UTC)

var config = fleet.Config{TokenTTL: 14 * 24 * time.Hour, Interval: 10 * time.Second, Unreachable: 30 * time.Second}

// world is a database with two providers.
type world struct {
	*fleet.Service
	t   *testing.T
	ctx context.Context
	db  *db.DB
}

func newWorld(t *testing.T) *world {
	t.Helper()
	d := dbtest.New(t)
	for _, p := range []string{"acc_p", "acc_q"} {
		must(t, d, `INSERT INTO account (id, name, created_at) VALUES ($1, $1, $2)`, p, monday)
		must(t, d, `INSERT INTO provider (account_id, tier, status, models, max_hosts, commitment_months, city, country, region, approved_at)
			VALUES ($1, 'community', 'active', '{}', 50, 0, 'Porto', 'PT', 'eu-west', $2)`, p, monday)
	}
	return &world{fleet.New(d, config), t, t.Context(), d}
}

func must(t *testing.T, d *db.DB, sql string, args ...any) {
	t.Helper()
	if _, err := d.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (w *world) token(provider string, hosts int) string {
	w.t.Helper()
	secret, err := w.Issue(w.ctx, w.db, monday, provider, hosts)
	if err != nil {
		w.t.Fatal(err)
	}
	return secret
}

func request(token, key string, at time.Time) protocol.EnrolRequest {
	return protocol.EnrolRequest{Protocol: protocol.Version, AgentVersion: "1.0", Token: token, PublicKey: key, Hostname: "rack-" + key, HostTime: at}
}

func (w *world) enrolled(provider, key string) fleet.Host {
	w.t.Helper()
	h, err := w.Enrol(w.ctx, monday, request(w.token(provider, 1), key, monday))
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

func card(n int) protocol.GPU {
	return protocol.GPU{UUID: fmt.Sprintf("GPU-%d", n), Model: "NVIDIA L40S", VRAMMiB: 46068, PowerW: 350, ECC: true}
}

func hello(at time.Time, gpus ...protocol.GPU) protocol.Hello {
	return protocol.Hello{Protocol: protocol.Version, AgentVersion: "1.1", HostTime: at,
		Hardware: protocol.Hardware{GPUs: gpus, CPUs: 64, RAMMiB: 262144, DiskMiB: 1 << 20, Driver: "550.1", CUDA: "12.4", Runtime: "docker", Isolation: []string{"runc"}}}
}

func (w *world) hello(at time.Time, host string, h protocol.Hello) bool {
	w.t.Helper()
	r, changed, err := w.Hello(w.ctx, at, host, h)
	if err != nil || r.Refusal != nil {
		w.t.Fatalf("hello: %v %v", r.Refusal, err)
	}
	if r.IntervalMS != 10_000 || r.Revision < 1 {
		w.t.Fatalf("hello: %+v", r)
	}
	return changed
}

func (w *world) gpus(host string) []fleet.GPU {
	w.t.Helper()
	gpus, err := w.GPUs(w.ctx, host)
	if err != nil {
		w.t.Fatal(err)
	}
	return gpus
}

func (w *world) beat(at time.Time, host string) protocol.HeartbeatReply {
	w.t.Helper()
	r, err := w.RecordHeartbeat(w.ctx, at, host, protocol.Heartbeat{HostTime: at, Complete: true, Applied: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	return r.HeartbeatReply
}

func wantFault(t *testing.T, err error, code string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("got %v, want %s", err, code)
	}
}
