package fleet_test

import (
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/protocol"
)

func TestHello(t *testing.T) {
	w := newWorld(t)
	h := w.enrolled("acc_p", "UA")
	if !w.hello(monday, h.ID, hello(monday, card(1), card(2))) {
		t.Error("the first hello changes nothing")
	}
	if w.hello(monday, h.ID, hello(monday, card(2), card(1))) {
		t.Error("the same cards in another order are a change")
	}
	gpus := w.gpus(h.ID)
	if len(gpus) != 2 || gpus[0].UUID != "GPU-2" || gpus[0].Model != "l40s" || !gpus[0].Present || gpus[0].Quarantine != "" || gpus[0].VRAMMiB != 46068 {
		t.Fatalf("%+v", gpus)
	}
	got, _ := w.Host(w.ctx, h.ID)
	if got.Hardware == nil || got.Hardware.CPUs != 64 || got.AgentVersion != "1.1" {
		t.Errorf("%+v", got)
	}
	next := hello(monday, card(1), card(2))
	next.Hardware.Driver = "560.2"
	if !w.hello(monday, h.ID, next) {
		t.Error("another driver is no change")
	}

	// A card vanishes and comes back: the same GPU.
	if !w.hello(monday, h.ID, hello(monday, card(2))) {
		t.Error("a card less is no change")
	}
	for _, g := range w.gpus(h.ID) {
		if g.Present != (g.UUID == "GPU-2") {
			t.Errorf("%s present: %v", g.UUID, g.Present)
		}
	}
	bad := card(1)
	bad.Fault = "GPU is lost"
	w.hello(monday, h.ID, hello(monday, card(2), bad))
	again := w.gpus(h.ID)
	if len(again) != 2 || again[1].ID != gpus[1].ID || !again[1].Present || again[1].Fault != "GPU is lost" || again[0].Fault != "" {
		t.Errorf("%+v", again)
	}
	// A hello without GPUs, as when the driver is away.
	w.hello(monday, h.ID, hello(monday))
	if gs := w.gpus(h.ID); len(gs) != 2 || gs[0].Present || gs[1].Present {
		t.Errorf("%+v", gs)
	}
	_, _, err := w.Hello(w.ctx, monday, "hst_none", hello(monday))
	wantFault(t, err, "host_not_found")
}

func TestHelloRefuses(t *testing.T) {
	w := newWorld(t)
	h := w.enrolled("acc_p", "UA")
	off, old := hello(monday.Add(time.Hour), card(1)), hello(monday, card(1))
	old.Protocol = 0
	for code, m := range map[string]protocol.Hello{"clock_off": off, "protocol_old": old} {
		r, changed, err := w.Hello(w.ctx, monday, h.ID, m)
		if err != nil || changed || r.Refusal == nil || r.Refusal.Code != code || strings.Contains(r.Refusal.Text, "{") {
			t.Errorf("%s: %+v %v %v", code, r.Refusal, changed, err)
		}
	}
	if len(w.gpus(h.ID)) != 0 {
		t.Error("a refused hello is recorded")
	}
}

func TestAbsurdHardwareIsNeverListed(t *testing.T) {
	w := newWorld(t)
	h := w.enrolled("acc_p", "UA")
	zero, huge, negative := card(1), card(2), card(3)
	zero.VRAMMiB, huge.VRAMMiB, negative.VRAMMiB = 0, 1<<40, -5
	nameless, odd := card(4), card(5)
	nameless.UUID, odd.Model = "", "evil\x00\n"+strings.Repeat("x", 500)
	m := hello(monday, zero, huge, negative, nameless, odd, card(6), card(6))
	m.Hardware.CPUs, m.Hardware.RAMMiB, m.Hardware.DiskMiB, m.Hardware.Driver = 2_000_000, -1, math.MaxInt64, "5\x0050"
	w.hello(monday, h.ID, m)
	gpus := w.gpus(h.ID)
	if len(gpus) != 5 {
		t.Fatalf("%d GPUs", len(gpus))
	}
	for _, g := range gpus[:3] {
		if g.Quarantine != fleet.AbsurdVRAM {
			t.Errorf("%s with %d MiB: %q", g.UUID, g.Detail.VRAMMiB, g.Quarantine)
		}
	}
	if m := gpus[3].Model; len(m) > 96 || strings.ContainsAny(m, "\x00\n") || gpus[3].Quarantine != "" {
		t.Errorf("%q", m)
	}
	got, _ := w.Host(w.ctx, h.ID)
	if hw := got.Hardware; hw.CPUs != 0 || hw.RAMMiB != 0 || hw.DiskMiB != 0 || hw.Driver != "550" {
		t.Errorf("%+v", hw)
	}
	// The driver recovers: what is absurd no more is let be.
	w.hello(monday, h.ID, hello(monday, card(1)))
	for _, g := range w.gpus(h.ID) {
		if g.UUID == "GPU-1" && g.Quarantine != "" {
			t.Errorf("still %q", g.Quarantine)
		}
	}
}

func TestOneCardOnTwoHosts(t *testing.T) {
	w := newWorld(t)
	a, b := w.enrolled("acc_p", "UA"), w.enrolled("acc_q", "UB")
	w.hello(monday, a.ID, hello(monday, card(1), card(2)))
	for range 2 {
		w.hello(monday, b.ID, hello(monday, card(1), card(3)))
	}
	for host, other := range map[string]string{a.ID: "GPU-2", b.ID: "GPU-3"} {
		gpus := w.gpus(host)
		if len(gpus) != 2 {
			t.Fatalf("%d GPUs", len(gpus))
		}
		for _, g := range gpus {
			if want := map[bool]string{true: "", false: fleet.SeenTwice}[g.UUID == other]; g.Quarantine != want {
				t.Errorf("%s: %q, want %q", g.UUID, g.Quarantine, want)
			}
			if g.Detail.UUID == "GPU-1" && !g.Present {
				t.Errorf("%s isn't present", g.UUID)
			}
		}
	}
	// A hello doesn't lift it; an operator does.
	w.hello(monday, a.ID, hello(monday, card(1), card(2)))
	g := w.gpus(a.ID)[0]
	if g.Quarantine != fleet.SeenTwice {
		t.Error("lifted by a hello")
	}
	if err := w.Quarantine(w.ctx, w.db, g.ID, ""); err != nil || w.gpus(a.ID)[0].Quarantine != "" {
		t.Errorf("not lifted: %v", err)
	}
	wantFault(t, w.Quarantine(w.ctx, w.db, "gpu_none", "x"), "gpu_not_found")
}

func TestCardMovesToAnotherHost(t *testing.T) {
	w := newWorld(t)
	a, b := w.enrolled("acc_p", "UA"), w.enrolled("acc_p", "UB")
	w.hello(monday, a.ID, hello(monday, card(1), card(2)))
	w.beat(monday, a.ID)
	w.hello(monday, a.ID, hello(monday, card(2))) // taken out
	w.hello(monday, b.ID, hello(monday, card(1)))
	if gs := w.gpus(b.ID); len(gs) != 1 || gs[0].Quarantine != "" || !gs[0].Present {
		t.Fatalf("%+v", gs)
	}
	// The machine is installed anew: the old host is silent, the new one has its cards.
	if _, err := w.Sweep(w.ctx, monday.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	w.hello(monday.Add(time.Minute), b.ID, hello(monday.Add(time.Minute), card(1), card(2)))
	if gs := w.gpus(b.ID); len(gs) != 2 || gs[1].Quarantine != "" || len(w.gpus(a.ID)) != 0 {
		t.Errorf("%+v", gs)
	}
}

func TestTwoHostsSayHelloAtOnce(t *testing.T) {
	w := newWorld(t)
	a, b := w.enrolled("acc_p", "UA"), w.enrolled("acc_q", "UB")
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			host, cards := a.ID, []protocol.GPU{card(1), card(2), card(3)}
			if i%2 == 1 {
				host, cards = b.ID, []protocol.GPU{card(3), card(2), card(1)}
			}
			if _, _, err := w.Hello(w.ctx, monday, host, hello(monday, cards...)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, host := range []string{a.ID, b.ID} {
		for _, g := range w.gpus(host) {
			if g.Quarantine != fleet.SeenTwice {
				t.Errorf("%s of %s: %q", g.UUID, host, g.Quarantine)
			}
		}
	}
}
