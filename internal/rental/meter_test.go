package rental

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/protocol"
)

const unreachable = 30 * time.Second

// Whatever beats arrive (lost, doubled, late, after gaps), billed time is the sum of the stretches between neighbours
// that are short enough, up to the stop, and never more than the clock shows.
func TestMeterCountsEachMillisecondOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gaps := rapid.SliceOf(rapid.Custom(func(t *rapid.T) time.Duration {
			if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
				return time.Duration(rapid.Int64Range(0, int64(20*time.Minute)).Draw(t, "gap"))
			}
			return time.Duration(rapid.Int64Range(0, int64(12*time.Second)).Draw(t, "gap"))
		})).Draw(t, "gaps")
		stopAfter := rapid.IntRange(-1, len(gaps)).Draw(t, "stop")
		m := Metering{State: Starting, CapMS: -1}
		if rapid.Bool().Draw(t, "capped") {
			m.CapMS = rapid.Int64Range(0, 600_000).Draw(t, "cap")
		}
		now := noon
		m = Meter(m, now, true, unreachable)
		if m.State != Running || m.BilledMS != 0 || !m.RunningAt.Equal(noon) {
			t.Fatalf("first report: %+v", m)
		}
		var good time.Duration // by the nanosecond
		resets := 1
		for i, gap := range gaps {
			before := now
			now = now.Add(gap)
			if i == stopAfter {
				at := before.Add(gap / 2)
				m.State, m.StopAt = Stopping, &at
			}
			end := now
			if m.StopAt != nil && m.StopAt.Before(end) {
				end = *m.StopAt
			}
			// The exact gap is up to a millisecond longer than the counted one: leave its edge alone.
			if g := now.Sub(*m.MeteredAt); g > unreachable {
				resets++
			} else if end.After(before) {
				good += end.Sub(before)
			}
			was := m
			m = Meter(m, now, true, unreachable)
			for range rapid.IntRange(0, 2).Draw(t, "doubled") {
				m = Meter(m, now, true, unreachable)
			}
			m = Meter(m, before, true, unreachable) // late
			m = Meter(m, now, false, unreachable)   // says nothing
			if m.BilledMS < was.BilledMS || m.MeteredAt.Before(*was.MeteredAt) {
				t.Fatalf("went back: %+v, %+v", was, m)
			}
		}
		wall := now.Sub(noon).Milliseconds()
		want := good.Milliseconds()
		if m.CapMS >= 0 {
			if m.BilledMS > m.CapMS {
				t.Fatalf("billed %d over the cap of %d", m.BilledMS, m.CapMS)
			}
			want = min(want, m.CapMS)
		}
		if m.BilledMS > wall || m.BilledMS > want || m.BilledMS < want-int64(resets) {
			t.Fatalf("billed %d of %d ms, want %d less up to %d", m.BilledMS, wall, want, resets)
		}
	})
}

// However a rental's time is cut into settlements, money adds up.
func TestSettlementsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := record{Rental: Rental{ID: "rnt", Micro: money.Micro(rapid.Int64Range(1, 100_000_000).Draw(t, "rate")), GPUs: rapid.IntRange(1, 16).Draw(t, "gpus"),
			FeeBPS: rapid.IntRange(0, 10_000).Draw(t, "bps")}}
		var charged, fee, earned money.Micro
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			r.BilledMS += rapid.Int64Range(0, 400_000).Draw(t, "ms")
			d, err := dueOf(r)
			if err != nil {
				t.Fatal(err)
			}
			charged, fee, earned = charged+d.Charge, fee+d.FeePart, earned+d.Charge-d.FeePart
			r.Charged, r.Fee = d.Total, d.Fee
		}
		want, _ := money.Charge(r.Micro, r.GPUs, r.BilledMS)
		wantFee, _ := money.Fee(want, r.FeeBPS)
		if charged != want || fee != wantFee || earned+fee != charged {
			t.Fatalf("charged %d, fee %d, earned %d; want %d and %d", charged, fee, earned, want, wantFee)
		}
	})
}

func TestStoppingBeforeItRanBillsNothing(t *testing.T) {
	at := noon
	m := Metering{State: Stopping, StopAt: &at, CapMS: -1}
	for i := range 5 {
		m = Meter(m, noon.Add(time.Duration(i)*time.Second), true, unreachable)
	}
	if m.BilledMS != 0 || m.RunningAt != nil {
		t.Errorf("got %+v", m)
	}
}

func TestEveryReasonIsAttributed(t *testing.T) {
	want := map[Reason]string{
		StoppedByCustomer: "customer", Completed: "customer", WorkloadFailed: "customer", FundsExhausted: "customer", MaximumReached: "customer",
		ImageCannotStart: "customer", WindowEnded: "nobody", ProviderStopped: "provider", HostOffline: "provider", GPUFault: "provider",
		HostFault: "provider", PlatformFault: "platform",
	}
	if len(Reasons()) != len(want) {
		t.Errorf("%d reasons, %d wanted", len(Reasons()), len(want))
	}
	for _, r := range Reasons() {
		if r.Attribution() != want[r] || want[r] == "" {
			t.Errorf("%s: got %q, want %q", r, r.Attribution(), want[r])
		}
	}
	if Reason("").Attribution() != "" || Reason("bad luck").Attribution() != "" {
		t.Error("what is no reason is attributed")
	}
	// Every phase, code and state gives a reason of the set.
	for _, state := range []State{Starting, Running, Stopping} {
		for _, phase := range []protocol.Phase{"exited", "stopped", "failed", "lost", "?"} {
			for _, code := range []string{"", "image_not_found", "no_command", "refused", "engine", "?"} {
				got := endReason(state, MaximumReached, protocol.Status{Phase: phase, Code: code})
				if !slices.Contains(Reasons(), got) || state == Stopping && got != MaximumReached {
					t.Errorf("%s %s %s: %q", state, phase, code, got)
				}
			}
		}
	}
}
