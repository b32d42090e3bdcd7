package rental

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/id"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/market"
	"github.com/gpunex/gpunex/internal/money"
)

// Start claims GPUs, holds money, makes the rental and bumps the host's revision, in one transaction.
// Faults: quote_not_found, quote_expired, quote_used, offer_gone (GPUs were let meanwhile), funds_short (args need, have),
// key_reused, viewers_only_look, and those of an order's check: image_required, image_invalid, env_forbidden, env_invalid,
// env_many, command_long, command_invalid, max_spend_invalid, max_hours_invalid, key_required.
func (s *Service) Start(ctx context.Context, now time.Time, who account.Identity, o Order) (Rental, error) {
	now = s.tick(now)
	if err := who.MayAct(); err != nil {
		return Rental{}, err
	}
	if err := o.check(); err != nil {
		return Rental{}, err
	}
	hash, err := o.hash()
	if err != nil {
		return Rental{}, err
	}
	var made record
	var again bool
	for range 2 { // the second time finds who was faster with the same key
		err = s.db.InTx(ctx, func(tx db.Tx) error {
			made, again, err = s.start(ctx, tx, now, who, o, hash)
			return err
		})
		if !violates(err, keyOnce) {
			break
		}
	}
	switch {
	case violates(err, gpuLetOnce):
		err = market.OfferGone()
	case violates(err, quoteOnce):
		err = quoteUsed()
	case violates(err, keyOnce):
		err = keyReused()
	}
	if err != nil {
		return Rental{}, fmt.Errorf("rental: start: %w", err)
	}
	if !again {
		s.tell(made.HostID)
	}
	return made.Rental, nil
}

func (s *Service) start(ctx context.Context, tx db.Tx, now time.Time, who account.Identity, o Order, hash []byte) (made record, again bool, err error) {
	if made, again, err = sameKey(ctx, tx, who.Account.ID, o.IdemKey, hash); again || err != nil {
		return made, again, err
	}
	q, err := s.market.LockQuote(ctx, tx, who, o.QuoteID)
	if err != nil {
		return record{}, false, err
	}
	// The host's row is locked first by everyone who changes what is on it: starts on one host wait here for each other.
	revision, err := s.fleet.Bump(ctx, tx, q.HostID)
	if err != nil {
		return record{}, false, err
	}
	if made, again, err = sameKey(ctx, tx, who.Account.ID, o.IdemKey, hash); err != nil {
		return record{}, false, err
	}
	if again {
		return made, true, nil // the revision rises for nothing, which costs one look
	}
	if err := s.usable(ctx, tx, now, q); err != nil {
		return record{}, false, err
	}
	gpus, err := s.market.Free(ctx, tx, q.HostID, q.Model)
	if err != nil {
		return record{}, false, err
	}
	if len(gpus) < q.GPUs {
		return record{}, false, market.OfferGone()
	}
	r := newRecord(now, who, q, o, hash, revision)
	if err := insertRental(ctx, tx, r); err != nil {
		return record{}, false, err
	}
	if err := insertClaims(ctx, tx, now, r.ID, gpus[:q.GPUs]); err != nil {
		return record{}, false, err
	}
	if err := s.crash("claimed"); err != nil {
		return record{}, false, err
	}
	if err := s.firstHold(ctx, tx, now, r.Rental); err != nil {
		return record{}, false, err
	}
	if err := insertEvent(ctx, tx, now, r.ID, Starting, ""); err != nil {
		return record{}, false, err
	}
	if err := s.crash("started"); err != nil {
		return record{}, false, err
	}
	made, err = rentalByID(ctx, tx, r.ID)
	return made, false, err
}

// sameKey finds the rental that this request has made before.
func sameKey(ctx context.Context, q db.Querier, customer, key string, hash []byte) (record, bool, error) {
	r, err := rentalByKey(ctx, q, customer, key)
	if errors.Is(err, db.ErrNoRow) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, err
	}
	if !bytes.Equal(r.RequestHash, hash) {
		return record{}, false, keyReused()
	}
	return r, true, nil
}

func (s *Service) usable(ctx context.Context, tx db.Tx, now time.Time, q market.Quote) error {
	used, err := quoteIsUsed(ctx, tx, q.ID)
	switch {
	case err != nil:
		return err
	case used:
		return quoteUsed()
	case !now.Before(q.ExpiresAt):
		return quoteExpired()
	}
	return nil
}

func newRecord(now time.Time, who account.Identity, q market.Quote, o Order, hash []byte, revision int64) record {
	return record{
		Rental: Rental{
			ID: id.New(id.Rental), CustomerID: who.Account.ID, HostID: q.HostID, Model: q.Model, GPUs: q.GPUs, Micro: q.Micro, FeeBPS: q.FeeBPS,
			Image: o.Image, Command: o.Command, Env: o.Env, MaxSpend: o.MaxSpend, MaxMS: o.MaxDuration.Milliseconds(),
			State: Starting, RequestedAt: now,
		},
		PersonID: who.Person.ID, QuoteID: q.ID, IdemKey: o.IdemKey, RequestHash: hash, WantedRevision: revision,
	}
}

// firstHold holds the money of the first hour, or of all that the rental may cost if that is less.
func (s *Service) firstHold(ctx context.Context, tx db.Tx, now time.Time, r Rental) error {
	if limit, limited, err := r.maximumMS(); err != nil || limited && limit == 0 {
		return errors.Join(err, fault.New(fault.Invalid, "max_spend_invalid", "Enter a maximum spend that pays for some time"))
	}
	need, err := s.holdFor(r, 0)
	if err != nil {
		return err
	}
	if need > 0 {
		_, _, err = s.ledger.Post(ctx, tx, holding(r, 0, need, now))
	}
	if errors.Is(err, ledger.ErrFunds) {
		have, err := s.ledger.Balance(ctx, tx, ledger.Available(r.CustomerID))
		if err != nil {
			return err
		}
		return fundsShort(need, have)
	}
	return err
}

// holdFor is what should be held for a rental whose billed time is ms and all of whose charge up to there is settled:
// the next stretch, within its maxima.
func (s *Service) holdFor(r Rental, ms int64) (money.Micro, error) {
	until := ms + s.cfg.Hold.Milliseconds()
	limit, limited, err := r.maximumMS()
	if err != nil {
		return 0, err
	}
	if limited {
		until = max(min(until, limit), ms)
	}
	whole, err := money.Charge(r.Micro, r.GPUs, until)
	if err != nil {
		// A rate so high that an hour of it is no amount: nobody has that money.
		return 0, fault.New(fault.Invalid, "rate_absurd", "This rate is too high to be charged. Choose another offer")
	}
	settled, err := money.Charge(r.Micro, r.GPUs, ms)
	if err != nil {
		return 0, err
	}
	return whole.Sub(settled)
}

// holding is the posting that adds to a rental's hold for the nth time.
func holding(r Rental, n int, amount money.Micro, now time.Time) ledger.Posting {
	return ledger.Posting{
		Key: fmt.Sprintf("hold:%s:%d", r.ID, n), Kind: "hold", Subject: r.ID, Memo: "Held for GPU time", At: now,
		Legs: []ledger.Leg{{Account: ledger.Available(r.CustomerID), Micro: -amount}, {Account: ledger.Hold(r.CustomerID, r.ID), Micro: amount}},
	}
}
