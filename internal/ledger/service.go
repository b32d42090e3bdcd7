package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/id"
	"github.com/gpunex/gpunex/internal/money"
)

// Ledger is the double-entry ledger.
type Ledger struct{ db *db.DB }

// New makes the ledger.
func New(d *db.DB) *Ledger { return &Ledger{db: d} }

// Post writes a posting in the caller's transaction, locking its accounts in the order of their codes, the platform's
// last. already says that the key had been posted before, and nothing was written. After an error the transaction must
// be rolled back, except after ErrFunds and ErrKeyReused, which leave it usable.
func (l *Ledger) Post(ctx context.Context, tx db.Tx, p Posting) (txn string, already bool, err error) {
	if err := p.check(); err != nil {
		return "", false, err
	}
	txn, outcome, err := post(ctx, tx, id.New(id.Txn), p)
	if err != nil {
		return "", false, fmt.Errorf("ledger: post %s: %w", p.Key, err)
	}
	switch outcome {
	case "posted":
		return txn, false, nil
	case "already":
		return txn, true, nil
	case "funds":
		return "", false, fmt.Errorf("post %s: %w", p.Key, ErrFunds)
	case "reused":
		return "", false, fmt.Errorf("post %s: %w", p.Key, ErrKeyReused)
	}
	return "", false, fmt.Errorf("ledger: post %s: unknown outcome %q", p.Key, outcome)
}

// Balance gives an account's balance; 0 for an account that was never posted to.
func (l *Ledger) Balance(ctx context.Context, q db.Querier, a Account) (money.Micro, error) {
	return balance(ctx, q, a.Code)
}

// Held is the sum of all of a customer's holds.
func (l *Ledger) Held(ctx context.Context, q db.Querier, account string) (money.Micro, error) {
	return held(ctx, q, account)
}

// Lines lists an owner's entries, newest first, those with a smaller Seq than before (0: from the newest).
func (l *Ledger) Lines(ctx context.Context, owner string, before int64, limit int) ([]Line, error) {
	return lines(ctx, l.db, owner, before, min(max(limit, 1), maxLines))
}

// maxLines is the longest list that Lines gives.
const maxLines = 10_000

// About lists the entries of the transactions about a subject, oldest first, on accounts of owner ("" for all).
func (l *Ledger) About(ctx context.Context, subject, owner string) ([]Line, error) {
	return about(ctx, l.db, subject, owner)
}

// Audit proves the books: it reads all of them, as they were at one moment.
func (l *Ledger) Audit(ctx context.Context) (Audit, error) {
	a, err := audit(ctx, l.db)
	if err != nil {
		return Audit{}, fmt.Errorf("ledger: audit: %w", err)
	}
	return a, nil
}

// maxTestFunds is the most test money that one gift can hold.
const maxTestFunds = 1_000_000 * money.USDC

// GiveTestFunds credits a customer with test money, in dev only. Key makes it once.
func (l *Ledger) GiveTestFunds(ctx context.Context, now time.Time, key, account, byPerson string, amount money.Micro) error {
	if amount <= 0 || amount > maxTestFunds {
		return fault.New(fault.Invalid, "amount_range", "Give an amount between {from} and {to} USDC",
			"from", money.Micro(1).String(), "to", maxTestFunds.String())
	}
	if key == "" || account == "" {
		return errors.New("ledger: test funds need a key and an account")
	}
	return l.db.InTx(ctx, func(tx db.Tx) error {
		_, _, err := l.Post(ctx, tx, Posting{
			Key: "test_funds:" + key, Kind: "test_funds", Subject: account, Memo: "Test money from " + byPerson, At: now,
			Legs: []Leg{{TestFunds(), -amount}, {Available(account), amount}},
		})
		return err
	})
}
