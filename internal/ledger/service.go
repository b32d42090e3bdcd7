package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/money"
)

// Account names one account of the books. Balances are credit positive.
type Account struct {
	Code    string
	Owner   string // the account that it belongs to; empty: the platform's own
	Floored bool   // never below zero
}

// Available is a customer's money that nothing holds.
func Available(account string) Account {
	return Account{Code: "customer:" + account + ":available", Owner: account, Floored: true}
}

// Hold is a customer's money that one rental holds.
func Hold(account, rental string) Account {
	return Account{Code: "hold:" + rental, Owner: account, Floored: true}
}

// Earned is what a provider earned and can't be paid yet: a fault could still be credited from it.
func Earned(provider string) Account {
	return Account{Code: "provider:" + provider + ":earned", Owner: provider, Floored: true}
}

// Payable is what a provider is owed and the next payout takes.
func Payable(provider string) Account {
	return Account{Code: "provider:" + provider + ":payable", Owner: provider, Floored: true}
}

// InTransit is what has been taken for a payout that isn't settled.
func InTransit(provider string) Account {
	return Account{Code: "provider:" + provider + ":in_transit", Owner: provider, Floored: true}
}

// Fees is the platform's income.
func Fees() Account { return Account{Code: "platform:fees", Floored: true} }

// Treasury stands for the money outside: it goes down when money comes in from outside, up when money leaves.
func Treasury() Account { return Account{Code: "platform:treasury"} }

// TestFunds is where an operator's test money comes from. It stands for nothing outside.
func TestFunds() Account { return Account{Code: "platform:test_funds"} }

// Leg is one side of a posting.
type Leg struct {
	Account Account
	Micro   money.Micro // credit positive; never zero
}

// Posting is one balanced entry in the ledger.
type Posting struct {
	Key     string // idempotency: posting it again does nothing, another content under it is an error
	Kind    string // hold, release, usage, mature, payout, payout_paid, payout_returned, test_funds
	Subject string // what it is about, as in rnt_…
	Memo    string // for people, in English
	At      time.Time
	Legs    []Leg
}

// Line is one entry of an account as its owner sees it.
type Line struct {
	Seq     int64
	At      time.Time
	Txn     string
	Kind    string
	Subject string
	Memo    string
	Account string // code
	Micro   money.Micro
	After   money.Micro
}

// Audit is proof that the books are in order, or what isn't.
type Audit struct {
	Transactions int64
	Entries      int64
	Accounts     int64
	Sum          money.Micro // of all entries: 0
	Unbalanced   []string    // transactions whose legs don't sum to zero
	Drifted      []string    // accounts whose balance isn't the sum of their entries
	BelowFloor   []string
}

// OK says whether the books are in order.
func (a Audit) OK() bool {
	return a.Sum == 0 && len(a.Unbalanced)+len(a.Drifted)+len(a.BelowFloor) == 0
}

// Ledger is the double-entry ledger.
type Ledger struct{ db *db.DB }

// New makes the ledger.
func New(d *db.DB) *Ledger { return &Ledger{db: d} }

var errStub = errors.New("not built yet")

// ErrFunds says that a floored account would go below zero.
var ErrFunds = errors.New("ledger: not enough money in the account")

// ErrKeyReused says that a key was used before for another posting.
var ErrKeyReused = errors.New("ledger: idempotency key reused with another content")

// Post writes a posting in the caller's transaction, locking its accounts in the order of their codes, the platform's
// last. already says that the key had been posted before, and nothing was written. After an error the transaction must
// be rolled back, except after ErrFunds and ErrKeyReused, which leave it usable.
func (l *Ledger) Post(ctx context.Context, tx db.Tx, p Posting) (txn string, already bool, err error) {
	return "", false, errStub
}

// Balance gives an account's balance; 0 for an account that was never posted to.
func (l *Ledger) Balance(ctx context.Context, q db.Querier, a Account) (money.Micro, error) {
	return 0, errStub
}

// Held is the sum of all of a customer's holds.
func (l *Ledger) Held(ctx context.Context, q db.Querier, account string) (money.Micro, error) {
	return 0, errStub
}

// Lines lists an owner's entries, newest first, those with a smaller Seq than before (0: from the newest).
func (l *Ledger) Lines(ctx context.Context, owner string, before int64, limit int) ([]Line, error) {
	return nil, errStub
}

// About lists the entries of the transactions about a subject, oldest first, on accounts of owner ("" for all).
func (l *Ledger) About(ctx context.Context, subject, owner string) ([]Line, error) {
	return nil, errStub
}

// Audit proves the books.
func (l *Ledger) Audit(ctx context.Context) (Audit, error) { return Audit{}, errStub }

// GiveTestFunds credits a customer with test money, in dev only. Key makes it once.
func (l *Ledger) GiveTestFunds(ctx context.Context, now time.Time, key, account, byPerson string, amount money.Micro) error {
	return errStub
}
