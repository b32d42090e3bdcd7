package benchmark

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/db/dbtest"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/notice"
	"github.com/gpunex/gpunex/internal/proof"
	"github.com/gpunex/gpunex/internal/protocol"
)

var monday = time.Date(2026, 12, 7, 9, 0, 0, 0, time.UTC)

// outbox keeps notices, each key once, as the real one does.
type outbox struct {
	mu   sync.Mutex
	sent []notice.Notice
}

func (o *outbox) Send(_ context.Context, _ db.Querier, _ time.Time, n notice.Notice) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.ContainsFunc(o.sent, func(m notice.Notice) bool { return m.Key == n.Key }) {
		o.sent = append(o.sent, n)
	}
	return nil
}

func (o *outbox) kinds() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []string
	for _, n := range o.sent {
		out = append(out, n.Kind)
	}
	o.sent = nil
	return out
}

// world is one provider with one host of GPUs.
type world struct {
	*Service
	t    *testing.T
	ctx  context.Context
	mail *outbox
	host string
	gpus []fleet.GPU
}

var config = Config{Every: 7 * 24 * time.Hour, Size: 64, Rounds: 2, Rows: 4}

func newWorld(t *testing.T, cards int) *world {
	t.Helper()
	d := dbtest.New(t)
	w := &world{t: t, ctx: t.Context(), mail: &outbox{}}
	f := fleet.New(d, fleet.Config{TokenTTL: time.Hour, Interval: 10 * time.Second, Unreachable: 30 * time.Second})
	w.Service = New(d, f, nil, config)
	w.notices = w.mail
	w.exec(`INSERT INTO person VALUES ('prs_1', 'owner@example.com', 'O', '', 'de', $1), ('prs_2', 'viewer@example.com', 'V', '', 'en', $1)`, monday)
	w.exec(`INSERT INTO account (id, name, created_at) VALUES ('acc_p', 'P', $1)`, monday)
	w.exec(`INSERT INTO membership VALUES ('acc_p', 'prs_1', 'owner', $1), ('acc_p', 'prs_2', 'viewer', $1)`, monday)
	w.exec(`INSERT INTO provider VALUES ('acc_p', 'community', 'active', '{}', 9, 0, 'Porto', 'PT', 'eu', $1)`, monday)
	w.host = w.enrol("UA", cards)
	var err error
	if w.gpus, err = f.GPUs(w.ctx, w.host); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Exec(w.ctx, sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) enrol(key string, cards int) string {
	w.t.Helper()
	secret, err := w.fleet.Issue(w.ctx, w.db, monday, "acc_p", 1)
	if err != nil {
		w.t.Fatal(err)
	}
	h, err := w.fleet.Enrol(w.ctx, monday, protocol.EnrolRequest{Protocol: 1, Token: secret, PublicKey: key, Hostname: "rack", HostTime: monday})
	if err != nil {
		w.t.Fatal(err)
	}
	var gpus []protocol.GPU
	for i := range cards {
		gpus = append(gpus, protocol.GPU{UUID: fmt.Sprintf("GPU-%s-%d", key, i), Model: "NVIDIA L40S", VRAMMiB: 46068})
	}
	if _, _, err := w.fleet.Hello(w.ctx, monday, h.ID, protocol.Hello{Protocol: 1, HostTime: monday, Hardware: protocol.Hardware{GPUs: gpus}}); err != nil {
		w.t.Fatal(err)
	}
	w.beat(monday, h.ID)
	return h.ID
}

func (w *world) beat(now time.Time, host string) {
	w.t.Helper()
	if _, err := w.fleet.RecordHeartbeat(w.ctx, now, host, protocol.Heartbeat{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) request(now time.Time) Run {
	w.t.Helper()
	r, err := w.Request(w.ctx, now, w.host, Connected)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) order() *protocol.BenchOrder {
	w.t.Helper()
	o, err := w.Order(w.ctx, w.db, w.host)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// prover is the host's side of a run.
type prover struct {
	order  protocol.BenchOrder
	proofs map[string]*proof.Proof
	uuids  []string
}

func (w *world) prove(o *protocol.BenchOrder) *prover {
	w.t.Helper()
	if o == nil {
		w.t.Fatal("no order")
	}
	p := &prover{order: *o, proofs: map[string]*proof.Proof{}}
	for _, g := range w.gpus {
		one, err := proof.Prove(proof.GPUSeed(o.Seed, g.UUID), o.Size, o.Rounds)
		if err != nil {
			w.t.Fatal(err)
		}
		p.proofs[g.UUID], p.uuids = one, append(p.uuids, g.UUID)
	}
	return p
}

func (p *prover) commit() protocol.BenchCommit {
	c := protocol.BenchCommit{Run: p.order.Run}
	for _, u := range p.uuids {
		c.Proof = append(c.Proof, protocol.GPUCommit{UUID: u, Roots: p.proofs[u].Roots()})
	}
	return c
}

func (p *prover) result(t *testing.T, open protocol.BenchOpen, figures map[string]float64) protocol.BenchResult {
	t.Helper()
	r := protocol.BenchResult{Run: p.order.Run, Host: protocol.HostFigures{SeqReadMBs: 3000, LatencyMS: 12}}
	for _, u := range p.uuids {
		rows, err := p.proofs[u].Open(open.Round, open.Rows)
		if err != nil {
			t.Fatal(err)
		}
		g := protocol.GPUResult{UUID: u, Figures: figures}
		for _, row := range rows {
			g.Opened = append(g.Opened, protocol.OpenedRow(row))
		}
		r.GPUs = append(r.GPUs, g)
	}
	return r
}

func (w *world) commit(now time.Time, c protocol.BenchCommit) protocol.BenchOpen {
	w.t.Helper()
	o, err := w.Commit(w.ctx, now, w.host, c)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

func (w *world) result(now time.Time, r protocol.BenchResult) protocol.BenchReply {
	w.t.Helper()
	o, err := w.Result(w.ctx, now, w.host, r)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// run does a whole honest run with these figures.
func (w *world) run(now time.Time, figures map[string]float64) protocol.BenchReply {
	w.t.Helper()
	w.request(now)
	p := w.prove(w.order())
	return w.result(now, p.result(w.t, w.commit(now, p.commit()), figures))
}

func (w *world) verdict(i int) (Verdict, bool) {
	w.t.Helper()
	vs, err := w.Verdicts(w.ctx, []string{w.gpus[i].ID})
	if err != nil {
		w.t.Fatal(err)
	}
	v, ok := vs[w.gpus[i].ID]
	return v, ok
}

func (w *world) newest() Run {
	w.t.Helper()
	rs, err := w.Runs(w.ctx, w.host, 1)
	if err != nil || len(rs) != 1 {
		w.t.Fatalf("%v %v", rs, err)
	}
	return rs[0]
}

func (w *world) quarantine(i int) string {
	w.t.Helper()
	gs, err := w.fleet.GPUs(w.ctx, w.host)
	if err != nil {
		w.t.Fatal(err)
	}
	return gs[i].Quarantine
}

func (w *world) revision() int64 {
	w.t.Helper()
	h, err := w.fleet.Host(w.ctx, w.host)
	if err != nil {
		w.t.Fatal(err)
	}
	return h.DesiredRevision
}

// claim lets a GPU to a rental that is open until ended.
func (w *world) claim(i int) (end func(now time.Time)) {
	w.t.Helper()
	w.exec(`INSERT INTO quote VALUES ('quo_1', 'acc_p', $1, 'l40s', 1, 1, 0, $2, $2)`, w.host, monday)
	w.exec(`INSERT INTO rental (id, customer_id, person_id, provider_id, host_id, quote_id, idem_key, request_hash, model, gpus, micro, fee_bps, image, command, env, simulated, state, requested_at, wanted_revision)
		VALUES ('rnt_1', 'acc_p', 'prs_1', 'acc_p', $1, 'quo_1', 'k', '', 'l40s', 1, 1, 0, 'i', '{}', '{}', false, 'starting', $2, 1)`, w.host, monday)
	w.exec(`INSERT INTO claim VALUES ('rnt_1', $1, tstzrange($2, NULL))`, w.gpus[i].ID, monday)
	return func(now time.Time) { w.exec(`UPDATE claim SET during = tstzrange(lower(during), $1)`, now) }
}

func wantRefusal(t *testing.T, r *protocol.Refusal, code string) {
	t.Helper()
	if r == nil || r.Code != code || r.Text == "" {
		t.Errorf("got %+v, want %s", r, code)
	}
}

func wantFault(t *testing.T, err error, code string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("got %v, want %s", err, code)
	}
}
