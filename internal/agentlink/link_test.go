package agentlink_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/agentlink"
	"github.com/gpunex/gpunex/internal/benchmark"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/db/dbtest"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/protocol"
)

// rentals is package rental, scripted.
type rentals struct {
	mu       sync.Mutex
	desired  []protocol.Workload
	beats    []protocol.Heartbeat
	chunks   []protocol.LogChunk
	err      error
	panicked bool
}

func (r *rentals) Desired(context.Context, db.Querier, string) ([]protocol.Workload, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.desired, r.err
}

func (r *rentals) Observe(_ context.Context, _ time.Time, _ string, hb protocol.Heartbeat) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.panicked {
		panic("a bug")
	}
	r.beats = append(r.beats, hb)
	return r.err
}

func (r *rentals) AppendLog(_ context.Context, _ string, c protocol.LogChunk) (protocol.LogReply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks = append(r.chunks, c)
	return protocol.LogReply{Next: int64(len(c.Lines))}, r.err
}

// world is a provider and the services behind the link.
type world struct {
	*agentlink.Link
	t       *testing.T
	db      *db.DB
	fleet   *fleet.Service
	bench   *benchmark.Service
	rentals *rentals
}

func newWorld(t *testing.T) *world {
	t.Helper()
	d := dbtest.New(t)
	now := time.Now()
	for _, sql := range []string{
		`INSERT INTO account (id, name, created_at) VALUES ('acc_p', 'P', $1)`,
		`INSERT INTO provider VALUES ('acc_p', 'community', 'active', '{}', 9, 0, 'Porto', 'PT', 'eu', $1)`,
	} {
		if _, err := d.Exec(t.Context(), sql, now); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, db: d, rentals: &rentals{}}
	w.fleet = fleet.New(d, fleet.Config{TokenTTL: time.Hour, Interval: 10 * time.Second, Unreachable: 30 * time.Second})
	w.bench = benchmark.New(d, w.fleet, nil, benchmark.Config{Every: time.Hour, Size: 64, Rounds: 2, Rows: 4})
	w.Link = agentlink.New(w.fleet, w.bench, w.rentals, nil, "", nil)
	return w
}

func (w *world) token() string {
	w.t.Helper()
	secret, err := w.fleet.Issue(w.t.Context(), w.db, time.Now(), "acc_p", 1)
	if err != nil {
		w.t.Fatal(err)
	}
	return secret
}

func (w *world) enrolled() string {
	w.t.Helper()
	now := time.Now()
	h, err := w.fleet.Enrol(w.t.Context(), now, protocol.EnrolRequest{Protocol: 1, Token: w.token(), PublicKey: "UA", HostTime: now})
	if err != nil {
		w.t.Fatal(err)
	}
	return h.ID
}

func hello(now time.Time, driver string) protocol.Hello {
	return protocol.Hello{Protocol: 1, HostTime: now, Hardware: protocol.Hardware{Driver: driver,
		GPUs: []protocol.GPU{{UUID: "GPU-1", Model: "NVIDIA L4", VRAMMiB: 23034}}}}
}

// ask sends a message as JSON.
func ask[Out any](w *world, host, kind string, in any) (Out, error) {
	w.t.Helper()
	var out Out
	data, err := json.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	reply, err := w.Handle(w.t.Context(), time.Now(), host, kind, data)
	if err == nil {
		err = json.Unmarshal(reply, &out)
	}
	return out, err
}

func must[Out any](w *world, host, kind string, in any) Out {
	w.t.Helper()
	out, err := ask[Out](w, host, kind, in)
	if err != nil {
		w.t.Fatalf("%s: %v", kind, err)
	}
	return out
}

func (w *world) reasons(host string) []string {
	w.t.Helper()
	rs, err := w.bench.Runs(w.t.Context(), host, 10)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, r := range rs {
		out = append(out, r.Reason+" "+r.State)
	}
	return out
}

func TestAHostsDay(t *testing.T) {
	w := newWorld(t)
	host := w.enrolled()
	w.rentals.desired = []protocol.Workload{{Rental: "rnt_1", Want: protocol.WantRunning}}

	if r := must[protocol.HeartbeatReply](w, host, "hb", protocol.Heartbeat{}); !r.Hello || r.IntervalMS != 10_000 {
		t.Errorf("%+v", r)
	}
	greeted := must[protocol.HelloReply](w, host, "hello", hello(time.Now(), "550"))
	if greeted.Refusal != nil || greeted.Revision != 2 {
		t.Errorf("%+v", greeted)
	}
	if r := must[protocol.HeartbeatReply](w, host, "hb", protocol.Heartbeat{Workloads: []protocol.Status{{Rental: "rnt_1", Message: "a\x00b"}}}); r.Hello || r.Revision != greeted.Revision {
		t.Errorf("%+v", r)
	}
	if b := w.rentals.beats[1]; b.Workloads[0].Message != "ab" {
		t.Errorf("%+v", b)
	}
	d := must[protocol.Desired](w, host, "desired", protocol.DesiredRequest{})
	if d.Revision != greeted.Revision || len(d.Workloads) != 1 || d.Bench == nil || d.Bench.Size != 64 {
		t.Fatalf("%+v", d)
	}
	if again := must[protocol.HelloReply](w, host, "hello", hello(time.Now(), "550")); again.Revision != greeted.Revision {
		t.Error("the same hello changes something")
	}
	roots := [][]byte{make([]byte, 32), make([]byte, 32)}
	open := must[protocol.BenchOpen](w, host, "bench.commit", protocol.BenchCommit{Run: d.Bench.Run, Proof: []protocol.GPUCommit{{UUID: "GPU-1", Roots: roots}}})
	if open.Refusal != nil || len(open.Rows) != 4 {
		t.Errorf("%+v", open)
	}
	if r := must[protocol.BenchReply](w, host, "bench.result", protocol.BenchResult{Run: d.Bench.Run, Interrupted: "x"}); r.Refusal != nil {
		t.Errorf("%+v", r)
	}
	if d = must[protocol.Desired](w, host, "desired", protocol.DesiredRequest{}); d.Bench != nil {
		t.Error("the order stays")
	}
	must[protocol.HelloReply](w, host, "hello", hello(time.Now(), "560"))
	if got := w.reasons(host); !slices.Equal(got, []string{"hardware_changed requested", "connected interrupted"}) {
		t.Errorf("runs %v", got)
	}
	long := strings.Repeat("é", protocol.MaxLogText)
	l := must[protocol.LogReply](w, host, "log", protocol.LogChunk{Rental: "rnt_1", Lines: []protocol.LogLine{{Text: long}, {Text: "a\x00b"}}})
	if lines := w.rentals.chunks[0].Lines; l.Next != 2 || len(lines[0].Text) > protocol.MaxLogText || lines[1].Text != "ab" {
		t.Errorf("%+v", l)
	}
}

// An old heartbeat is answered, and tells nothing of rentals. What its sender holds stays as it is.
func TestOldHeartbeatsTellNothing(t *testing.T) {
	w := newWorld(t)
	host, now := w.enrolled(), time.Now()
	must[protocol.HelloReply](w, host, "hello", hello(now, "550"))
	said := []protocol.Status{{Rental: "rnt_1", Message: "a\x00b"}}
	for i, sent := range []time.Time{now, now, now.Add(-time.Second), now.Add(time.Second)} {
		arrival := now.Add(time.Duration(i) * time.Second)
		r, err := w.Heartbeat(t.Context(), arrival, host, protocol.Heartbeat{HostTime: sent, Workloads: said})
		if old := i == 1 || i == 2; err != nil || r.Revision != 2 || r.IntervalMS != 10_000 || r.Hello != old {
			t.Errorf("%d: %+v, %v", i, r, err)
		}
	}
	if len(w.rentals.beats) != 2 || !w.rentals.beats[1].HostTime.Equal(now.Add(time.Second)) || said[0].Message != "a\x00b" {
		t.Errorf("%+v, %+v", w.rentals.beats, said)
	}
}

func TestChangeInterruptsARunUnderWay(t *testing.T) {
	w := newWorld(t)
	host := w.enrolled()
	must[protocol.HelloReply](w, host, "hello", hello(time.Now(), "550"))
	d := must[protocol.Desired](w, host, "desired", protocol.DesiredRequest{})
	must[protocol.BenchOpen](w, host, "bench.commit", protocol.BenchCommit{Run: d.Bench.Run, Proof: []protocol.GPUCommit{{UUID: "GPU-1", Roots: [][]byte{make([]byte, 32), make([]byte, 32)}}}})
	must[protocol.HelloReply](w, host, "hello", hello(time.Now(), "560"))
	if got := w.reasons(host); !slices.Equal(got, []string{"hardware_changed requested", "connected interrupted"}) {
		t.Errorf("runs %v", got)
	}
}

func TestRefusedHelloAsksForNothing(t *testing.T) {
	w := newWorld(t)
	host := w.enrolled()
	r := must[protocol.HelloReply](w, host, "hello", hello(time.Now().Add(time.Hour), "550"))
	if r.Refusal == nil || r.Refusal.Code != "clock_off" || len(w.reasons(host)) != 0 {
		t.Errorf("%+v, runs %v", r, w.reasons(host))
	}
}

// The revision that a document says is that of the document, however much changes meanwhile: the first hello brings the
// order and the revision together.
func TestDesiredIsOfItsRevision(t *testing.T) {
	w := newWorld(t)
	host := w.enrolled()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				now := time.Now()
				if _, err := w.Hello(t.Context(), now, host, hello(now, now.String())); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			var last int64
			for range 20 {
				d, err := w.Desired(t.Context(), time.Now(), host, protocol.DesiredRequest{})
				if err != nil || d.Revision < last || (d.Revision > 1) != (d.Bench != nil) {
					t.Errorf("%+v after %d (%v)", d, last, err)
				}
				last = d.Revision
			}
		})
	}
	wg.Wait()
}

func TestBadMessagesAreRefused(t *testing.T) {
	w := newWorld(t)
	host := w.enrolled()
	for kind, refusable := range map[string]bool{"hello": true, "hb": false, "desired": false, "log": false, "bench.commit": true, "bench.result": true} {
		for data, code := range map[string]string{
			"": "malformed", "{": "malformed", "[]": "malformed", "nonsense": "malformed", `"x"`: "malformed",
			strings.Repeat(" ", 9<<20) + "{}": "too_large",
		} {
			reply, err := w.Handle(t.Context(), time.Now(), host, kind, []byte(data))
			var refusal *protocol.Refusal
			if refusable {
				var r struct{ Refusal *protocol.Refusal }
				if err == nil {
					err = json.Unmarshal(reply, &r)
				}
				if err != nil || r.Refusal == nil || r.Refusal.Code != code {
					t.Errorf("%s %.10q: %s %v", kind, data, reply, err)
				}
			} else if !errors.As(err, &refusal) || refusal.Code != code || reply != nil {
				t.Errorf("%s %.10q: %s %v", kind, data, reply, err)
			}
		}
	}
	if _, err := w.Handle(t.Context(), time.Now(), host, "else", nil); err == nil {
		t.Error("an unknown subject is answered")
	}
	for _, kind := range []string{"hello", "bench.commit", "bench.result"} {
		r, err := ask[struct{ Refusal *protocol.Refusal }](w, "hst_none", kind, hello(time.Now(), "550"))
		if err != nil || r.Refusal == nil {
			t.Errorf("%s of a stranger: %+v %v", kind, r, err)
		}
	}
	for _, kind := range []string{"hb", "desired"} {
		if _, err := ask[any](w, "hst_none", kind, struct{}{}); !fault.Is(err, "host_not_found") {
			t.Errorf("%s of a stranger: %v", kind, err)
		}
	}
}

// An answer that says nothing could be read as "nothing should run".
func TestFailureIsNoAnswer(t *testing.T) {
	w := newWorld(t)
	host := w.enrolled()
	w.rentals.err = errors.New("the database is away")
	for _, kind := range []string{"hb", "desired", "log"} {
		if reply, err := w.Handle(t.Context(), time.Now(), host, kind, []byte("{}")); err == nil || reply != nil {
			t.Errorf("%s: %s %v", kind, reply, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if reply, err := w.Handle(ctx, time.Now(), host, "hello", []byte(fmt.Sprintf(`{"protocol":1,"host_time":%q}`, time.Now().Format(time.RFC3339)))); err == nil {
		t.Errorf("hello without a database: %s", reply)
	}
}

func FuzzHandle(f *testing.F) {
	kinds := []string{"hello", "hb", "desired", "log", "bench.commit", "bench.result", "else"}
	for i := range kinds {
		f.Add(i, []byte(`{"hardware":{"gpus":[{"uuid":"GPU-1"}]},"workloads":[{}],"lines":[{}],"proof":[{}],"gpus":[{"opened":[{}]}]}`))
	}
	l := agentlink.New(nil, nil, &rentals{}, nil, "", nil)
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		// Only what reaches no service: the log is the one whose answer is scripted.
		kind := kinds[uint(i)%uint(len(kinds))]
		if kind != "log" && json.Valid(data) {
			t.Skip()
		}
		_, _ = l.Handle(t.Context(), time.Now(), "hst_1", kind, data)
	})
}
