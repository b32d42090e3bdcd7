package payout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/notice"
)

// settle ends a payout as paid or returned: the state, the money and the mail in one transaction. Sending and no error
// mean that someone else had settled it.
func (s *Service) settle(ctx context.Context, now time.Time, p Payout, to State, detail string) (State, error) {
	back := ledger.Posting{
		Key: "payout_returned:" + p.ID, Kind: "payout_returned", Subject: p.ID, Memo: "Payout returned: " + detail, At: now,
		Legs: []ledger.Leg{{Account: ledger.InTransit(p.ProviderID), Micro: -p.Micro}, {Account: ledger.Payable(p.ProviderID), Micro: p.Micro}},
	}
	out := ledger.Posting{
		Key: "payout_paid:" + p.ID, Kind: "payout_paid", Subject: p.ID, Memo: "Paid out, reference " + p.Reference, At: now,
		Legs: []ledger.Leg{{Account: ledger.InTransit(p.ProviderID), Micro: -p.Micro}, {Account: ledger.Treasury(), Micro: p.Micro}},
	}
	posting := out
	if to == Returned {
		posting = back
	}
	reached := Sending
	var mailErr error
	err := s.db.InTx(ctx, func(tx db.Tx) error {
		reached, mailErr = Sending, nil
		mine, err := endPayout(ctx, tx, p.ID, to, detail, now)
		if err != nil || !mine {
			return err
		}
		s.step("settling, uncommitted")
		if _, already, err := s.ledger.Post(ctx, tx, posting); err != nil {
			return err
		} else if already {
			return fmt.Errorf("posted before, though the payout was open: %s", posting.Key)
		}
		mailErr = s.mail(ctx, tx, now, p, "payout."+string(to), detail)
		reached = to
		return nil
	})
	if err != nil {
		return Sending, fmt.Errorf("settle as %s: %w", to, err)
	}
	s.step("settled")
	return reached, wrap("mail", mailErr)
}

// mail tells the owners of the provider's account, once each. It works in a savepoint: a text that can't be rendered must not keep
// the books from saying what has happened to the money.
func (s *Service) mail(ctx context.Context, tx db.Tx, now time.Time, p Payout, kind, detail string) error {
	if s.notices == nil {
		return nil
	}
	owners, err := account.Owners(ctx, tx, p.ProviderID)
	if err != nil {
		return err
	}
	save, err := tx.Begin(ctx)
	if err != nil {
		return err
	}
	for _, o := range owners {
		err := s.notices.Send(ctx, save, now, notice.Notice{
			Key: kind + ":" + p.ID + ":" + o.ID, Kind: kind, To: o.Email, Locale: o.Locale,
			Data: map[string]string{
				"name": o.Name, "amount": p.Micro.String(), "payout": p.ID, "reference": p.Reference,
				"destination": p.Destination, "period_end": p.PeriodEnd.UTC().Format(time.DateOnly), "detail": detail,
			},
		})
		if err != nil {
			return errors.Join(err, save.Rollback(ctx))
		}
	}
	return save.Commit(ctx)
}
