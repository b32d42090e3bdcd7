package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/market"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/rental"
)

// let is a rental as the world knows it.
type let struct {
	id    string
	name  string
	by    *buyer
	host  *host
	order rental.Order
	lines int // of output that the platform has
}

// quote asks for some GPUs of a host. No quote when the market refuses.
func (w *World) quote(ctx context.Context, b *buyer, h *host, gpus int) (*market.Quote, error) {
	q, err := w.p.Market.Quote(ctx, w.now, b.who, h.id, h.model, gpus)
	if err != nil {
		w.note("%s: asks for %d of %s: %s", b.name, gpus, h.name, outcome(err))
		return nil, accept(err)
	}
	return &q, nil
}

// order is what a customer might send for a quote.
func (w *World) order(q *market.Quote) rental.Order {
	o := rental.Order{QuoteID: q.ID, IdemKey: "k-" + strconv.Itoa(w.step) + "-" + strconv.Itoa(w.rng.IntN(1000)), Image: "gpunex/hello:1"}
	switch n := w.rng.IntN(30); {
	case n < 1:
		o.Image = "gpunex/missing:1"
	case n < 2:
		o.Image = "gpunex/noshell:1"
	case n < 3:
		o.Command = []string{"/no/such"}
	case n < 5:
		o.Command = []string{"sleep", strconv.Itoa(1 + w.rng.IntN(600))}
	case n < 6:
		o.Command = []string{"exit", strconv.Itoa(w.rng.IntN(2))}
	}
	if w.rng.IntN(6) == 0 {
		o.MaxDuration = w.between(time.Minute, 20*time.Minute)
	}
	if w.rng.IntN(6) == 0 {
		o.MaxSpend = money.Micro(1 + w.rng.Int64N(int64(money.USDC)))
	}
	return o
}

func (w *World) rent(ctx context.Context) error {
	b, h := pick(w, w.customers), pick(w, w.hosts)
	q, err := w.quote(ctx, b, h, 1+w.rng.IntN(h.gpus))
	if q == nil {
		return err
	}
	if w.chance(0.05) { // a customer who thinks it over until the quote has expired
		if err := w.passes(ctx, w.between(30*time.Second, 3*time.Minute), 5*time.Second, 20*time.Second); err != nil {
			return err
		}
	}
	return w.place(ctx, b, h, q, w.order(q))
}

// place sends an order, sometimes again with the same key, always again after a crash.
func (w *World) place(ctx context.Context, b *buyer, h *host, q *market.Quote, o rental.Order) error {
	var r rental.Rental
	send := func() (err error) {
		r, err = w.p.Rentals.Start(ctx, w.now, b.who, o)
		return err
	}
	err := w.try(0.1, send)
	if errors.Is(err, errCrash) {
		err = send()
	}
	if err != nil {
		w.note("%s: rents %d of %s: %s", b.name, q.GPUs, h.name, outcome(err))
		return accept(err)
	}
	l := &let{id: r.ID, name: fmt.Sprintf("r%d", len(w.rentals)), by: b, host: h, order: o}
	w.rentals = append(w.rentals, l)
	w.names[l.id] = l.name
	w.note("%s: rents %d of %s: %s (%s %v, at most %s, %s)", b.name, q.GPUs, h.name, l.name, o.Image, o.Command, o.MaxDuration, o.MaxSpend)
	switch {
	case r.GPUs != q.GPUs || r.Micro != q.Micro || r.FeeBPS != q.FeeBPS:
		return fmt.Errorf("%s: got %d × %s with fee %d, was promised %d × %s with fee %d", l.name, r.GPUs, r.Micro, r.FeeBPS, q.GPUs, q.Micro, q.FeeBPS)
	case w.chance(0.3):
		return w.again(ctx, l)
	case w.chance(0.1):
		o.IdemKey += "-other"
		if _, err := w.p.Rentals.Start(ctx, w.now, b.who, o); err == nil || accept(err) != nil {
			return fmt.Errorf("%s: the quote used twice: %w", l.name, errors.Join(errors.New("want a fault"), err))
		}
	}
	return nil
}

// again sends an order that was accepted once more: it must give the same rental.
func (w *World) again(ctx context.Context, l *let) error {
	r, err := w.p.Rentals.Start(ctx, w.now, l.by.who, l.order)
	w.note("%s: sends %s's order again: %s", l.by.name, l.name, outcome(err))
	if err != nil {
		return fmt.Errorf("order of %s sent again: %w", l.name, err)
	}
	if r.ID != l.id {
		return fmt.Errorf("order of %s sent again gave another rental", l.name)
	}
	o := l.order
	o.Image += "x"
	switch _, err := w.p.Rentals.Start(ctx, w.now, l.by.who, o); {
	case err == nil:
		return fmt.Errorf("%s: another order under its key was taken", l.name)
	case !fault.Is(err, "key_reused"):
		return fmt.Errorf("%s: another order under its key must be key_reused: %w", l.name, err)
	}
	return nil
}

// rentTwice is two customers with quotes for the same last GPUs.
func (w *World) rentTwice(ctx context.Context) error {
	a, b, h := pick(w, w.customers), pick(w, w.customers), pick(w, w.hosts)
	qa, err := w.quote(ctx, a, h, h.gpus)
	if qa == nil {
		return err
	}
	qb, err := w.quote(ctx, b, h, h.gpus)
	if qb == nil {
		return err
	}
	if err := w.place(ctx, a, h, qa, w.order(qa)); err != nil {
		return err
	}
	return w.place(ctx, b, h, qb, w.order(qb))
}

// someRental draws one, mostly of the newer ones, ended or not.
func (w *World) someRental() *let {
	if len(w.rentals) == 0 {
		return nil
	}
	recent := w.rentals[max(0, len(w.rentals)-8):]
	if w.rng.IntN(4) == 0 {
		recent = w.rentals
	}
	return pick(w, recent)
}

func (w *World) stop(ctx context.Context) error {
	l := w.someRental()
	if l == nil {
		return nil
	}
	times := 1 + w.rng.IntN(2)
	for range times {
		if err := w.halt(ctx, l, l.by.who, l.by.name); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) providerStop(ctx context.Context) error {
	l := w.someRental()
	if l == nil {
		return nil
	}
	return w.halt(ctx, l, l.host.owner.who, l.host.owner.name)
}

func (w *World) halt(ctx context.Context, l *let, who account.Identity, name string) error {
	err := w.try(0.1, func() error { _, err := w.p.Rentals.Stop(ctx, w.now, who, l.id); return err })
	w.note("%s: stops %s: %s", name, l.name, outcome(err))
	return accept(err)
}
