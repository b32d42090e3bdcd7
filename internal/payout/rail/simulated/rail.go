package simulated

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/payout"
)

// Closed is a destination that takes no money: a payout to it is returned.
const Closed = "simulated:closed"

// Rail is the simulated rail.
type Rail struct{ db *db.DB }

var _ payout.Rail = (*Rail)(nil)

// New makes the rail.
func New(d *db.DB) *Rail { return &Rail{db: d} }

// Name is how settings and payouts call it.
func (r *Rail) Name() string { return "simulated" }

// Send moves the money once for a reference. Another amount or destination under the same reference is an error.
func (r *Rail) Send(ctx context.Context, now time.Time, p payout.Payout) error {
	if p.Reference == "" {
		return errors.New("simulated: a transfer needs a reference")
	}
	t, err := send(ctx, r.db, transfer{Reference: p.Reference, Destination: p.Destination, Micro: p.Micro}, now)
	if err != nil {
		return fmt.Errorf("simulated: send %s: %w", p.Reference, err)
	}
	if t.Micro != p.Micro || t.Destination != p.Destination {
		return fmt.Errorf("simulated: %s was sent before as %s to %s, not %s to %s", p.Reference, t.Micro, t.Destination, p.Micro, p.Destination)
	}
	return nil
}

// Look says what became of a reference.
func (r *Rail) Look(ctx context.Context, reference string) (payout.Outcome, error) {
	t, err := find(ctx, r.db, reference)
	switch {
	case errors.Is(err, db.ErrNoRow):
		return payout.Outcome{}, nil
	case err != nil:
		return payout.Outcome{}, fmt.Errorf("simulated: look at %s: %w", reference, err)
	case t.Destination == Closed:
		return payout.Outcome{Returned: "The destination is closed"}, nil
	}
	return payout.Outcome{Paid: true}, nil
}
