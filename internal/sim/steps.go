package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/protocol"
)

// step is one kind of thing that can happen.
type step struct {
	name   string
	weight int
	do     func(*World, context.Context) error
}

// steps are all of them, in an order that a seed relies on.
func steps() []step {
	return []step{
		{"advance", 30, (*World).advance},
		{"rent", 28, (*World).rent},
		{"rent twice", 2, (*World).rentTwice},
		{"stop", 8, (*World).stop},
		{"provider stops", 1, (*World).providerStop},
		{"exit", 6, (*World).exit},
		{"lose", 2, (*World).lose},
		{"engine away", 2, (*World).engineAway},
		{"cut off", 5, (*World).cutOff},
		{"agent restart", 2, (*World).agentRestart},
		{"agent down", 2, (*World).agentDown},
		{"platform restart", 2, (*World).platformRestart},
		{"benchmark", 2, (*World).benchmark},
		{"mature", 2, (*World).mature},
		{"price", 3, (*World).price},
		{"log", 2, (*World).log},
		{"fund", 1, (*World).giveFunds},
		{"long", 5, (*World).long},
		{"calm", 2, (*World).settle},
		{"payday", 1, (*World).payday},
	}
}

func (w *World) choose() step {
	all, sum := steps(), 0
	for _, s := range all {
		sum += s.weight
	}
	n := w.rng.IntN(sum)
	for _, s := range all {
		if n -= s.weight; n < 0 {
			return s
		}
	}
	panic("unreachable: the weights sum to less than their sum")
}

// pass lets time go on, every host do what is due there and then the platform what is due by the clock.
func (w *World) pass(ctx context.Context, d time.Duration) error {
	w.now = w.now.Add(d)
	for _, h := range w.hosts {
		if err := h.tick(ctx); err != nil {
			return err
		}
	}
	sweeps := []func() error{
		func() error { _, err := w.p.Fleet.Sweep(ctx, w.now); return err },
		func() error { return w.p.Rentals.Sweep(ctx, w.now) },
	}
	for _, sweep := range sweeps {
		if err := accept(w.try(pDie, sweep)); err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
	}
	return w.broken
}

// passes goes on for a while, in passes of a few seconds.
func (w *World) passes(ctx context.Context, total, least, most time.Duration) error {
	for total > 0 {
		d := min(w.between(least, most), total)
		total -= d
		if err := w.pass(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) advance(ctx context.Context) error {
	d := w.between(time.Second, 30*time.Second)
	if w.chance(0.3) { // one pass: a whole silence of the clock's
		w.note("advance %s at once", d)
		return w.pass(ctx, d)
	}
	w.note("advance %s", d)
	return w.passes(ctx, d, 3*time.Second, 12*time.Second)
}

func (w *World) long(ctx context.Context) error {
	d := w.between(2*time.Minute, 30*time.Minute)
	w.note("long %s", d)
	return w.passes(ctx, d, 16*time.Second, 28*time.Second) // nearly unreachable: few beats, the same bounds
}

func (w *World) exit(context.Context) error {
	h, rental := w.someContainer()
	if h == nil {
		return nil
	}
	code := w.rng.IntN(2)
	w.note("%s: %s exits with %d", h.name, w.names[rental], code)
	err := h.engine.End(rental, code)
	w.oracle.look(w.now, h)
	return err
}

func (w *World) lose(context.Context) error {
	h, rental := w.someContainer()
	if h == nil {
		return nil
	}
	w.note("%s: %s's container vanishes", h.name, w.names[rental])
	err := h.engine.Lose(rental)
	w.oracle.look(w.now, h)
	return err
}

// someContainer draws one that runs; no host when none does.
func (w *World) someContainer() (*host, string) {
	type one struct {
		h      *host
		rental string
	}
	var all []one
	for _, l := range w.rentals { // in the order of their making, never of their identifiers
		for _, r := range l.host.running() {
			if r == l.id {
				all = append(all, one{l.host, r})
			}
		}
	}
	if len(all) == 0 {
		return nil, ""
	}
	o := pick(w, all)
	return o.h, o.rental
}

// someHost draws a host, rather one that has something to lose.
func (w *World) someHost() *host {
	if l := w.someRental(); l != nil && w.rng.IntN(2) == 0 {
		return l.host
	}
	return pick(w, w.hosts)
}

func (w *World) engineAway(context.Context) error {
	h, d := w.someHost(), w.between(5*time.Second, 3*time.Minute)
	w.note("%s: engine away for %s", h.name, d)
	h.goAway(w.now.Add(d))
	return nil
}

func (w *World) cutOff(context.Context) error {
	h, d := w.someHost(), w.between(15*time.Second, 2*time.Minute)
	if w.chance(0.4) {
		d = w.between(2*time.Minute, 15*time.Minute)
	}
	w.note("%s: cut off for %s", h.name, d)
	h.wire.cut = w.now.Add(d)
	return nil
}

func (w *World) agentRestart(context.Context) error {
	h := w.someHost()
	w.note("%s: agent restarts", h.name)
	return h.boot()
}

func (w *World) agentDown(context.Context) error {
	h, d := w.someHost(), w.between(15*time.Second, 12*time.Minute)
	w.note("%s: agent down for %s", h.name, d)
	h.halt()
	h.downUntil = w.now.Add(d)
	return nil
}

func (w *World) platformRestart(context.Context) error {
	w.note("platform restarts")
	w.reboot()
	return nil
}

func (w *World) benchmark(ctx context.Context) error {
	h := w.someHost()
	_, err := w.p.Benchmarks.Request(ctx, w.now, h.id, "requested")
	w.note("%s: benchmark requested: %s", h.name, outcome(err))
	return accept(err)
}

func (w *World) mature(ctx context.Context) error {
	err := w.try(0.2, func() error { _, err := w.p.Rentals.Mature(ctx, w.now); return err })
	w.note("mature: %s", outcome(err))
	return accept(err)
}

var prices = []string{"2.19", "0,35", "7.77", "120", "0.000001", "1.234567", "3"}

func (w *World) price(ctx context.Context) error {
	s, m, p := pick(w, w.providers), pick(w, models), pick(w, prices)
	_, err := w.p.Market.SetPrice(ctx, w.now, s.who, m, p)
	w.note("%s: %s costs %s: %s", s.name, m, p, outcome(err))
	return err
}

func (w *World) giveFunds(ctx context.Context) error {
	b := pick(w, w.customers)
	amount := money.Micro(1 + w.rng.Int64N(int64(20*money.USDC)))
	w.note("%s: gets %s", b.name, amount)
	return w.fund(ctx, b, amount)
}

// payday goes on to the next Monday, with everything silent meanwhile, and pays, sometimes twice and with a crash.
func (w *World) payday(ctx context.Context) error {
	days := (8 - int(w.now.Weekday())) % 7
	if days == 0 {
		days = 7
	}
	y, m, d := w.now.Date()
	monday := time.Date(y, m, d+days, 0, 30, 0, 0, time.UTC)
	w.note("payday %s", monday.Format(time.DateOnly))
	if err := w.pass(ctx, monday.Sub(w.now)); err != nil {
		return err
	}
	for range 1 + w.rng.IntN(3) {
		err := w.try(0.5, func() error { return w.pay(ctx) })
		w.note("pay: %s", outcome(err))
		if err := accept(err); err != nil {
			return fmt.Errorf("pay: %w", err)
		}
	}
	if err := w.pay(ctx); err != nil {
		return fmt.Errorf("pay: %w", err)
	}
	_, err := w.p.Benchmarks.Due(ctx, w.now)
	return err
}

func (w *World) pay(ctx context.Context) error {
	sum, err := w.p.Pay(ctx, w.now)
	w.paid += sum.Paid
	w.returned += sum.Returned
	if err == nil && sum.Open > 0 {
		err = errors.New("the simulated rail left payouts open")
	}
	return err
}

// log sends some lines of a rental's output, and some of them again.
func (w *World) log(ctx context.Context) error {
	l := w.someRental()
	if l == nil {
		return nil
	}
	for range 1 + w.rng.IntN(3) {
		from := max(0, l.lines-w.rng.IntN(4))
		var chunk []protocol.LogLine
		for seq := from; seq < from+1+w.rng.IntN(6); seq++ {
			chunk = append(chunk, protocol.LogLine{Seq: int64(seq), At: w.now, Stream: "stdout", Text: fmt.Sprintf("line %d", seq)})
		}
		reply, err := l.host.wire.Log(ctx, protocol.LogChunk{Rental: l.id, Lines: chunk})
		w.note("%s: log of %s from %d: next %d, %v", l.host.name, l.name, from, reply.Next, err)
		if err == nil && reply.Next >= 0 {
			l.lines = int(reply.Next)
		}
	}
	list, err := w.p.Rentals.Logs(ctx, l.id, -1, 10_000)
	if err != nil {
		return err
	}
	for i, line := range list {
		if line.Seq != int64(i) || line.Text != fmt.Sprintf("line %d", i) {
			return fmt.Errorf("log of %s: line %d is %d, %q", l.name, i, line.Seq, line.Text)
		}
	}
	return nil
}
