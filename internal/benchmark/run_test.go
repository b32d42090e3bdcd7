package benchmark

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/gpu"
	"github.com/gpunex/gpunex/internal/notice"
	"github.com/gpunex/gpunex/internal/protocol"
)

func TestHonestRunPasses(t *testing.T) {
	w := newWorld(t, 2)
	before := w.revision()
	run := w.request(monday)
	if run.State != Requested || w.revision() != before+1 {
		t.Errorf("%+v", run)
	}
	if again := w.request(monday); again.ID != run.ID || w.revision() != before+1 {
		t.Error("a second request makes a second run")
	}
	order := w.order()
	if order.Run != run.ID || order.Size != 64 || order.Rounds != 2 {
		t.Errorf("%+v", order)
	}
	p := w.prove(order)
	open := w.commit(monday, p.commit())
	if open.Refusal != nil || len(open.Rows) != 4 || open.Round < 0 || open.Round > 1 {
		t.Fatalf("%+v", open)
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(open.Rows)))
	if len(distinct) != 4 || distinct[0] < 0 || distinct[3] >= 64 {
		t.Errorf("rows %v", open.Rows)
	}
	result := p.result(t, open, healthy("l40s", 0.95))
	for range 3 { // the reply was lost
		if r := w.result(monday.Add(time.Minute), result); !r.Passed || r.Refusal != nil {
			t.Fatalf("%+v", r)
		}
	}
	if w.order() != nil || w.revision() != before+2 {
		t.Error("the order stays")
	}
	if r := w.newest(); r.State != Passed || r.Host == nil || r.Host.SeqReadMBs != 3000 || !r.FinishedAt.Equal(monday.Add(time.Minute)) {
		t.Errorf("%+v", r)
	}
	for i := range w.gpus {
		v, ok := w.verdict(i)
		if !ok || !v.Passed || !v.ProofOK || v.Health < 0.949 || v.Score < 200 || v.RunID != run.ID || len(v.Figures) != 5 || len(v.Failures) != 0 ||
			v.Figures[0].Figure != gpu.Tensor || v.Figures[0].Expected != 362 {
			t.Errorf("%+v", v)
		}
	}
	if k := w.mail.kinds(); len(k) != 0 {
		t.Errorf("mails %v", k)
	}
}

func TestCommitIsBinding(t *testing.T) {
	w := newWorld(t, 2)
	run := w.request(monday)
	p := w.prove(w.order())
	good := p.commit()
	for name, c := range map[string]protocol.BenchCommit{
		"nothing":      {Run: run.ID},
		"foreign GPU":  {Run: run.ID, Proof: []protocol.GPUCommit{{UUID: "GPU-else", Roots: good.Proof[0].Roots}}},
		"a GPU twice":  {Run: run.ID, Proof: []protocol.GPUCommit{good.Proof[0], good.Proof[0]}},
		"a round less": {Run: run.ID, Proof: []protocol.GPUCommit{{UUID: good.Proof[0].UUID, Roots: good.Proof[0].Roots[:1]}}},
		"a short root": {Run: run.ID, Proof: []protocol.GPUCommit{{UUID: good.Proof[0].UUID, Roots: [][]byte{{1}, {2}}}}},
	} {
		t.Run(name, func(t *testing.T) { wantRefusal(t, w.commit(monday, c).Refusal, "commit_wrong") })
	}
	wantRefusal(t, w.result(monday, p.result(t, protocol.BenchOpen{Rows: []int{1}}, nil)).Refusal, "run_not_committed")
	wantRefusal(t, w.commit(monday, protocol.BenchCommit{Run: "bmk_none"}).Refusal, "run_unknown")

	open := w.commit(monday, good)
	slices.Reverse(good.Proof)
	var wg sync.WaitGroup
	for range 8 { // repeated, in another order
		wg.Go(func() {
			if again, err := w.Commit(w.ctx, monday, w.host, good); err != nil || !reflect.DeepEqual(again, open) {
				t.Errorf("%+v %v, want %+v", again, err, open)
			}
		})
	}
	wg.Wait()
	other := p.commit()
	other.Proof[0].Roots[0] = make([]byte, 32)
	wantRefusal(t, w.commit(monday, other).Refusal, "commit_changed")
	wantRefusal(t, w.commit(monday, protocol.BenchCommit{Run: run.ID, Proof: good.Proof[:1]}).Refusal, "commit_changed")

	// The platform restarts: the opening is the same.
	fresh := New(w.db, w.fleet, nil, config)
	fresh.notices = w.mail
	w.Service = fresh
	if again := w.commit(monday, good); !reflect.DeepEqual(again, open) {
		t.Errorf("%+v, want %+v", again, open)
	}
	if r := w.result(monday, p.result(t, open, healthy("l40s", 1))); !r.Passed {
		t.Errorf("%+v", r)
	}
	wantRefusal(t, w.commit(monday, good).Refusal, "run_over")
}

func TestForeignHostIsRefused(t *testing.T) {
	w := newWorld(t, 1)
	other := w.enrol("UB", 1)
	w.request(monday)
	p := w.prove(w.order())
	c, err := w.Commit(w.ctx, monday, other, p.commit())
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, c.Refusal, "run_unknown")
	open := w.commit(monday, p.commit())
	r, err := w.Result(w.ctx, monday, other, p.result(t, open, healthy("l40s", 1)))
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, r.Refusal, "run_unknown")
	if w.newest().State != Running {
		t.Error("a foreign host ends the run")
	}
}

func TestForgedProofQuarantines(t *testing.T) {
	w := newWorld(t, 2)
	w.request(monday)
	p := w.prove(w.order())
	open := w.commit(monday, p.commit())
	r := p.result(t, open, healthy("l40s", 1))
	r.GPUs[1].Opened[2].C[5]++
	if reply := w.result(monday, r); reply.Passed {
		t.Error("passes")
	}
	if w.quarantine(0) != "" || w.quarantine(1) != ProofFailed {
		t.Errorf("quarantine %q and %q", w.quarantine(0), w.quarantine(1))
	}
	v0, _ := w.verdict(0)
	v1, _ := w.verdict(1)
	if !v0.Passed || v1.Passed || v1.ProofOK || v1.Failures[0].Code != "proof_failed" {
		t.Errorf("%+v %+v", v0, v1)
	}
	if n := w.mail.sent; len(n) != 1 || n[0].Kind != "gpu.withdrawn" || n[0].To != "owner@example.com" || n[0].Data["figure"] != "GPU-Nachweis" || n[0].Data["causes"] == "" {
		t.Errorf("%+v", n)
	}
	// The proof holds next time, but only an operator lifts a quarantine.
	w.run(monday.Add(time.Hour), healthy("l40s", 1))
	if w.quarantine(1) != ProofFailed {
		t.Error("lifted by itself")
	}
}

func TestMissingGPUFailsWithoutQuarantine(t *testing.T) {
	w := newWorld(t, 2)
	w.request(monday)
	p := w.prove(w.order())
	c := p.commit()
	c.Proof = c.Proof[:1]
	open := w.commit(monday, c)
	r := p.result(t, open, healthy("l40s", 1))
	r.GPUs = append(r.GPUs[:1], protocol.GPUResult{UUID: "GPU-else", Figures: healthy("l40s", 1)})
	if w.result(monday, r).Passed {
		t.Error("passes")
	}
	v0, _ := w.verdict(0)
	if v1, ok := w.verdict(1); !ok || v1.Passed || !v0.Passed || w.quarantine(1) != "" {
		t.Errorf("%+v, quarantine %q", v1, w.quarantine(1))
	}
}

func TestWithdrawnAndListedAgain(t *testing.T) {
	w := newWorld(t, 1)
	slow := healthy("l40s", 1)
	slow["bandwidth"], slow["fp32"] = 0.61*864, 0.75*91.6
	now := monday
	step := func(figures map[string]float64, want ...string) {
		t.Helper()
		now = now.Add(time.Hour)
		w.run(now, figures)
		if got := w.mail.kinds(); !slices.Equal(got, want) {
			t.Errorf("mails %v, want %v", got, want)
		}
	}
	step(healthy("l40s", 1))
	w.run(now.Add(time.Minute), slow)
	d := w.mail.sent[0].Data
	if w.mail.sent[0].Locale != "de" || d["figure"] != "Speicherbandbreite" || d["measured"] != "527,0 GB/s" || d["expected"] != "864,0 GB/s" || d["floor"] != "691,2 GB/s" ||
		d["model"] != "NVIDIA L40S" || d["host"] != "rack" || !strings.Contains(d["causes"], "Speicher") {
		t.Errorf("%+v", w.mail.sent[0])
	}
	w.mail.kinds()
	step(slow)
	step(healthy("l40s", 1), "gpu.listed_again")
	step(healthy("l40s", 1))
	step(map[string]float64{"fp32": math.NaN()}, "gpu.withdrawn")
}

func TestFirstRunThatFailsIsMailed(t *testing.T) {
	w := newWorld(t, 1)
	w.run(monday, healthy("l40s", 0.5))
	if k := w.mail.kinds(); !slices.Equal(k, []string{"gpu.withdrawn"}) {
		t.Errorf("mails %v", k)
	}
}

// The real outbox takes both mails, with every value of their texts.
func TestMailsAreWritten(t *testing.T) {
	w := newWorld(t, 1)
	w.notices = notice.New(w.db, nil, "https://gpunex.example")
	w.run(monday, healthy("l40s", 0.5))
	w.run(monday.Add(time.Hour), healthy("l40s", 1))
	mails, err := notice.New(w.db, nil, "").Outbox(w.ctx, 10)
	if err != nil || len(mails) != 2 {
		t.Fatalf("%+v %v", mails, err)
	}
	for _, m := range mails {
		if m.To != "owner@example.com" || strings.Contains(m.Body, "{") || !strings.Contains(m.Body, "NVIDIA L40S") || strings.Contains(m.Body, "–\n") {
			t.Errorf("%s\n%s", m.Subject, m.Body)
		}
	}
}

func TestInterruptionCostsNothing(t *testing.T) {
	w := newWorld(t, 1)
	w.run(monday, healthy("l40s", 1))
	run := w.request(monday.Add(time.Hour))
	p := w.prove(w.order())
	w.commit(monday.Add(time.Hour), p.commit())
	for range 2 {
		if r := w.result(monday.Add(time.Hour), protocol.BenchResult{Run: run.ID, Interrupted: "a rental\x00 began"}); r.Refusal != nil || r.Passed {
			t.Errorf("%+v", r)
		}
	}
	if r := w.newest(); r.State != Interrupted || r.Detail != "a rental began" || r.Host != nil {
		t.Errorf("%+v", r)
	}
	if v, _ := w.verdict(0); !v.Passed || !v.At.Equal(monday) {
		t.Errorf("%+v", v)
	}
	// Before the commitment too.
	run = w.request(monday.Add(2 * time.Hour))
	w.result(monday.Add(2*time.Hour), protocol.BenchResult{Run: run.ID, Interrupted: "a rental began"})
	if w.newest().State != Interrupted || len(w.mail.kinds()) != 0 {
		t.Error("an interrupted request stays or is mailed")
	}
}

func TestNoOrderWhileRented(t *testing.T) {
	w := newWorld(t, 2)
	w.request(monday)
	end := w.claim(1)
	if w.order() != nil {
		t.Error("ordered while a rental uses a GPU")
	}
	end(monday.Add(time.Hour))
	if w.order() == nil {
		t.Error("not ordered after")
	}
}

func TestDue(t *testing.T) {
	w := newWorld(t, 1)
	due := func(now time.Time, want int) {
		t.Helper()
		if n, err := w.Due(w.ctx, now); err != nil || n != want {
			t.Errorf("%v: %d requested (%v), want %d", now.Sub(monday), n, err, want)
		}
	}
	due(monday, 1) // never judged
	due(monday.Add(time.Minute), 0)
	if r := w.newest(); r.Reason != Scheduled || r.State != Requested {
		t.Errorf("%+v", r)
	}
	// Nobody answers for half an hour.
	run := w.newest()
	p := w.prove(w.order())
	open := w.commit(monday, p.commit())
	due(monday.Add(30*time.Minute), 0)
	due(monday.Add(31*time.Minute), 1)
	rs, _ := w.Runs(w.ctx, w.host, 10)
	if len(rs) != 2 || rs[1].State != Inconclusive || rs[0].State != Requested {
		t.Fatalf("%+v", rs)
	}
	if rs, _ := w.Runs(w.ctx, w.host, 1); len(rs) != 1 {
		t.Error("the limit is ignored")
	}
	late := p.result(t, open, healthy("l40s", 0.1))
	if late.Run != run.ID {
		t.Fatal("another run")
	}
	wantRefusal(t, w.result(monday.Add(32*time.Minute), late).Refusal, "run_over")
	if _, judged := w.verdict(0); judged {
		t.Error("a late result is judged")
	}
	// The next run passes; then nothing for a week.
	p = w.prove(w.order())
	passed := monday.Add(40 * time.Minute)
	w.result(passed, p.result(t, w.commit(passed, p.commit()), healthy("l40s", 1)))
	week := passed.Add(config.Every)
	w.beat(week, w.host)
	due(week.Add(-time.Second), 0)
	end := w.claim(0)
	due(week, 0)
	end(week)
	due(week, 1)
	// An offline host isn't asked.
	w.result(week, protocol.BenchResult{Run: w.newest().ID, Interrupted: "x"})
	due(week.Add(time.Minute), 0) // it was asked just now
	if _, err := w.fleet.Sweep(w.ctx, week.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	due(week.Add(time.Hour), 0)
	w.beat(week.Add(2*time.Hour), w.host)
	due(week.Add(2*time.Hour), 1)
}

func TestRequestRefuses(t *testing.T) {
	w := newWorld(t, 1)
	_, err := w.Request(w.ctx, monday, "hst_none", Connected)
	wantFault(t, err, "host_not_found")
	_, err = w.Request(w.ctx, monday, w.host, "boredom")
	wantFault(t, err, "benchmark_reason")
}

func TestManyRequestAtOnce(t *testing.T) {
	w := newWorld(t, 1)
	var wg sync.WaitGroup
	ids := make([]string, 12)
	for i := range ids {
		wg.Go(func() {
			r, err := w.Request(w.ctx, monday, w.host, Wanted)
			if err != nil {
				t.Error(err)
			}
			ids[i] = r.ID
		})
	}
	wg.Wait()
	if slices.Sort(ids); ids[0] != ids[len(ids)-1] {
		t.Error("more than one run")
	}
}

func TestHostWithoutGPUsIsNotDue(t *testing.T) {
	w := newWorld(t, 0)
	w.request(monday)
	wantRefusal(t, w.commit(monday, protocol.BenchCommit{Run: w.order().Run}).Refusal, "commit_wrong")
	if n, err := w.Due(w.ctx, monday.Add(time.Hour)); err != nil || n != 0 {
		t.Errorf("%d %v", n, err)
	}
	if w.newest().State != Inconclusive {
		t.Error("stays open")
	}
}

func TestBrokenGPUIsLeftOut(t *testing.T) {
	w := newWorld(t, 2)
	var gpus []protocol.GPU
	for i, g := range w.gpus {
		if i == 1 {
			g.Detail.Fault = "GPU is lost"
		}
		gpus = append(gpus, g.Detail)
	}
	if _, _, err := w.fleet.Hello(w.ctx, monday, w.host, protocol.Hello{Protocol: 1, HostTime: monday, Hardware: protocol.Hardware{GPUs: gpus}}); err != nil {
		t.Fatal(err)
	}
	w.request(monday)
	all := w.gpus
	w.gpus = w.gpus[:1]
	p := w.prove(w.order())
	if r := w.result(monday, p.result(t, w.commit(monday, p.commit()), healthy("l40s", 1))); !r.Passed {
		t.Errorf("%+v", r)
	}
	w.gpus = all
	if _, judged := w.verdict(1); judged {
		t.Error("a broken GPU is judged")
	}
	if _, err := w.Verdicts(w.ctx, nil); err != nil {
		t.Error(err)
	}
}
