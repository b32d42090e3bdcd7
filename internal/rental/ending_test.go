package rental

import (
	"math"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/protocol"
)

// An end is billed as of when it was: its age is told by the host's own clock, whatever that shows.
func TestEndIsBilledAsOfWhenItWas(t *testing.T) {
	t.Parallel()
	const ran = 100 * time.Second // up to the last report before the end
	for name, c := range map[string]struct {
		silence, age, skew time.Duration
		stopped            bool // by the customer, five seconds after the last report
		want               time.Duration
	}{
		"at once":                      {silence: 4 * time.Second, want: 4 * time.Second},
		"heard of later":               {silence: 25 * time.Second, age: 18 * time.Second, want: 7 * time.Second},
		"by a clock that is off":       {silence: 25 * time.Second, age: 18 * time.Second, skew: -90 * time.Second, want: 7 * time.Second},
		"before the last report":       {silence: 8 * time.Second, age: 9 * time.Second},
		"long ago":                     {silence: 8 * time.Second, age: math.MaxInt64},
		"yet to come":                  {silence: 8 * time.Second, age: -time.Hour, want: 8 * time.Second},
		"after a silence":              {silence: 5 * time.Minute, age: 290 * time.Second},
		"before it was to stop":        {silence: 12 * time.Second, age: 9 * time.Second, stopped: true, want: 3 * time.Second},
		"long after it was to stop":    {silence: 12 * time.Second, age: time.Second, stopped: true, want: 5 * time.Second},
		"part of a millisecond is not": {silence: 8 * time.Second, age: 3*time.Second + time.Microsecond, want: 5*time.Second - time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			who := w.customer(25 * money.USDC)
			r := w.rent(who, 1)
			w.must(w.beat(is(r, protocol.PhaseRunning)))
			w.run(r, ran)
			heard := w.now.Add(c.silence)
			end := is(r, protocol.PhaseExited)
			if c.stopped {
				end.Phase = protocol.PhaseStopped
				if _, err := w.Stop(t.Context(), w.now.Add(5*time.Second), who, r.ID); err != nil {
					t.Fatal(err)
				}
			}
			w.now = heard
			at := heard.Add(c.skew)
			finished := at.Add(-c.age)
			end.FinishedAt = &finished
			w.must(w.Observe(t.Context(), w.now, w.host, protocol.Heartbeat{HostTime: at, Complete: true, Workloads: []protocol.Status{end}}))
			if r = w.get(r); r.State != Ended || r.BilledMS != (ran+c.want).Milliseconds() {
				t.Errorf("%s, billed %d ms, want %d", r.State, r.BilledMS, (ran + c.want).Milliseconds())
			}
		})
	}
}
