package payout

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pursue takes one open payout as far as it goes today. It gives the state that this call brought it to; Sending when
// the rail doesn't know yet, or when someone else settled it.
func (s *Service) pursue(ctx context.Context, now time.Time, p Payout) (State, error) {
	rail, ok := s.rail(p.Rail)
	if !ok {
		return p.State, fmt.Errorf("no rail %q", p.Rail)
	}
	if p.State == Planned {
		s.step("before sending")
		// The reference is known and stored before the rail hears of it: after a crash there is something to ask about.
		mine, err := startSending(ctx, s.db, p.ID, p.ID, now)
		if err != nil {
			return Planned, fmt.Errorf("start sending: %w", err)
		}
		s.step("sending stored")
		if !mine {
			return Planned, nil // another worker has it; a later Run asks about it if that worker dies
		}
		p.State, p.Reference, p.SendingAt = Sending, p.ID, &now
	}
	sendErr := rail.Send(ctx, now, p)
	s.step("sent")
	// Whatever Send said, only Look knows: an answer can be lost after the money has moved.
	out, err := rail.Look(ctx, p.Reference)
	if err != nil {
		return Sending, errors.Join(wrap("send", sendErr), wrap("look", err))
	}
	s.step("looked")
	switch {
	case out.Paid && out.Returned != "":
		return Sending, fmt.Errorf("rail %s says both paid and returned (%s): an operator must look", p.Rail, out.Returned)
	case out.Paid:
		return s.settle(ctx, now, p, Paid, "")
	case out.Returned != "":
		return s.settle(ctx, now, p, Returned, out.Returned)
	}
	return Sending, wrap("send", sendErr)
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
