package fleet_test

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/protocol"
)

type interval struct {
	Begin time.Time
	End   *time.Time
}

func (w *world) presence(host string) []interval {
	w.t.Helper()
	is, err := db.All[interval](w.ctx, w.db, `SELECT lower(during) AS begin, upper(during) AS end FROM host_presence WHERE host_id = $1 ORDER BY 1`, host)
	if err != nil {
		w.t.Fatal(err)
	}
	return is
}

func (w *world) sweep(at time.Time) []string {
	w.t.Helper()
	off, err := w.Sweep(w.ctx, at)
	if err != nil {
		w.t.Fatal(err)
	}
	return off
}

func at(seconds int) time.Time { return monday.Add(time.Duration(seconds) * time.Second) }

func TestPresence(t *testing.T) {
	w := newWorld(t)
	h := w.enrolled("acc_p", "UA")
	if r := w.beat(at(0), h.ID); !r.Hello || r.IntervalMS != 10_000 || r.Revision != 1 {
		t.Errorf("%+v", r)
	}
	w.hello(at(5), h.ID, hello(at(5), card(1)))
	if r := w.beat(at(10), h.ID); r.Hello {
		t.Error("asks for a hello that it has")
	}
	w.beat(at(20), h.ID)
	w.beat(at(15), h.ID) // late
	if is := w.presence(h.ID); len(is) != 1 || is[0].End != nil || !is[0].Begin.Equal(at(0)) {
		t.Fatalf("%+v", is)
	}
	if off := w.sweep(at(50)); len(off) != 0 {
		t.Error("swept at the limit")
	}
	if off := w.sweep(at(51)); !slices.Equal(off, []string{h.ID}) {
		t.Errorf("swept %v", off)
	}
	if off := w.sweep(at(52)); len(off) != 0 {
		t.Error("swept twice")
	}
	got, _ := w.Host(w.ctx, h.ID)
	if got.Online || !got.LastSeen.Equal(at(20)) {
		t.Errorf("%+v", got)
	}
	if is := w.presence(h.ID); len(is) != 1 || is[0].End == nil || !is[0].End.Equal(at(20)) {
		t.Fatalf("%+v", is)
	}
	// Back for one beat, then gone: the moment is kept.
	w.beat(at(100), h.ID)
	w.sweep(at(200))
	if is := w.presence(h.ID); len(is) != 2 || !is[1].Begin.Equal(at(100)) || !is[1].End.After(at(100)) {
		t.Fatalf("%+v", is)
	}
	// A beat from before the interval's end, by a clock behind: no overlap.
	w.beat(at(100), h.ID)
	if is := w.presence(h.ID); len(is) != 3 || is[2].Begin.Before(*is[1].End) {
		t.Fatalf("%+v", is)
	}
	_, err := w.RecordHeartbeat(w.ctx, monday, "hst_none", protocol.Heartbeat{})
	wantFault(t, err, "host_not_found")
}

func TestBeatsAndSweepsAtOnce(t *testing.T) {
	w := newWorld(t)
	h := w.enrolled("acc_p", "UA")
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if i%4 == 0 {
				if _, err := w.Sweep(w.ctx, at(31+i)); err != nil {
					t.Error(err)
				}
			} else if _, err := w.RecordHeartbeat(w.ctx, at(i), h.ID, protocol.Heartbeat{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, _ := w.Host(w.ctx, h.ID)
	open := 0
	for _, i := range w.presence(h.ID) {
		if i.End == nil {
			open++
		}
	}
	if got.Online != (open == 1) || open > 1 {
		t.Errorf("online: %v with %d open intervals", got.Online, open)
	}
}

func TestTelemetry(t *testing.T) {
	w := newWorld(t)
	h, other := w.enrolled("acc_p", "UA"), w.enrolled("acc_q", "UB")
	w.hello(monday, h.ID, hello(monday, card(1), card(2)))
	w.hello(monday, other.ID, hello(monday, card(3)))
	_, err := w.RecordHeartbeat(w.ctx, monday, h.ID, protocol.Heartbeat{Applied: 900, GPUs: []protocol.Telemetry{
		{UUID: "GPU-1", Utilisation: 1.7, MemoryMiB: 1000, TemperatureC: 60, PowerW: 300},
		{UUID: "GPU-2", PowerW: math.NaN()},
		{UUID: "GPU-3", Utilisation: 1},
		{UUID: "GPU-\x00", Utilisation: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	gpus := w.gpus(h.ID)
	if gpus[0].Telemetry == nil || *gpus[0].Telemetry != (protocol.Telemetry{UUID: "GPU-1", Utilisation: 1, MemoryMiB: 1000, TemperatureC: 60, PowerW: 300}) {
		t.Errorf("%+v", gpus[0].Telemetry)
	}
	if gpus[1].Telemetry != nil || w.gpus(other.ID)[0].Telemetry != nil {
		t.Error("stored what isn't a number, or for another host")
	}
	if got, _ := w.Host(w.ctx, h.ID); got.AppliedRevision != 1 {
		t.Errorf("applied %d of 1", got.AppliedRevision)
	}
}

// What an old heartbeat says is out of date: the host lives, and that is all.
func TestOldBeatsAreNotFresh(t *testing.T) {
	w := newWorld(t)
	h := w.enrolled("acc_p", "UA")
	w.hello(at(0), h.ID, hello(at(0), card(1)))
	for _, revision := range []int64{2, 3} {
		if got, err := w.Bump(w.ctx, w.db, h.ID); err != nil || got != revision {
			t.Fatalf("%d %v", got, err)
		}
	}
	for i, c := range []struct {
		now, sent int
		applied   int64
		greet     bool // before it
		fresh     bool
		want      int64
	}{
		{now: 10, sent: 10, applied: 2, fresh: true, want: 2},
		{now: 10, sent: 10, applied: 3, fresh: true, want: 3}, // two of one moment
		{now: 11, sent: 10, applied: 2, want: 3},              // the same once more
		{now: 12, sent: 9, applied: 2, want: 3},               // late
		{now: 13, sent: 100, applied: 2, fresh: true, want: 2},
		{now: 14, sent: 14, applied: 3, want: 2}, // the clock was set back
		{now: 15, sent: 15, applied: 3, greet: true, fresh: true, want: 3},
		{now: 16, sent: 14, applied: 2, want: 3},
	} {
		if c.greet {
			w.hello(at(c.now), h.ID, hello(at(c.sent), card(1)))
		}
		b, err := w.RecordHeartbeat(w.ctx, at(c.now), h.ID, protocol.Heartbeat{HostTime: at(c.sent), Applied: c.applied,
			GPUs: []protocol.Telemetry{{UUID: "GPU-1", PowerW: float64(c.applied)}}})
		if err != nil || b.Fresh != c.fresh || b.Hello == c.fresh || b.Revision != 3 || b.IntervalMS != 10_000 {
			t.Errorf("%d: %+v, %v", i, b, err)
		}
		got, _ := w.Host(w.ctx, h.ID)
		if got.AppliedRevision != c.want || !got.LastSeen.Equal(at(c.now)) || w.gpus(h.ID)[0].Telemetry.PowerW != float64(c.want) {
			t.Errorf("%d: %+v", i, got)
		}
	}
}

func TestBump(t *testing.T) {
	w := newWorld(t)
	h := w.enrolled("acc_p", "UA")
	for want := int64(2); want < 5; want++ {
		if got, err := w.Bump(w.ctx, w.db, h.ID); err != nil || got != want {
			t.Fatalf("%d %v", got, err)
		}
	}
	if r := w.beat(monday, h.ID); r.Revision != 4 {
		t.Errorf("a beat tells %d", r.Revision)
	}
	_, err := w.Bump(w.ctx, w.db, "hst_none")
	wantFault(t, err, "host_not_found")
}

func TestRestartKeepsEverything(t *testing.T) {
	w := newWorld(t)
	h := w.enrolled("acc_p", "UA")
	w.hello(monday, h.ID, hello(monday, card(1)))
	w.beat(monday, h.ID)
	w.Service = fleet.New(w.db, config)
	if r := w.beat(at(10), h.ID); r.Hello {
		t.Error("forgot the hardware")
	}
	if is := w.presence(h.ID); len(is) != 1 {
		t.Errorf("%d intervals", len(is))
	}
}
