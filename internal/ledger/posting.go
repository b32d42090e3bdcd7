package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/money"
)

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

// ErrFunds says that a floored account would go below zero.
var ErrFunds = errors.New("ledger: not enough money in the account")

// ErrKeyReused says that a key was used before for another posting.
var ErrKeyReused = errors.New("ledger: idempotency key reused with another content")

// check finds what makes a posting wrong whatever the books hold.
func (p Posting) check() error {
	if p.Key == "" || p.Kind == "" || p.At.IsZero() {
		return fmt.Errorf("ledger: a posting needs a key, a kind and a time: %q, %q, %s", p.Key, p.Kind, p.At)
	}
	if len(p.Legs) < 2 {
		return fmt.Errorf("ledger: %s: a posting has at least two legs", p.Key)
	}
	var sum money.Micro
	each := map[string]money.Micro{}
	for _, l := range p.Legs {
		if l.Account.Code == "" || l.Micro == 0 {
			return fmt.Errorf("ledger: %s: a leg needs an account and an amount: %q, %s", p.Key, l.Account.Code, l.Micro)
		}
		var err error
		if sum, err = sum.Add(l.Micro); err != nil {
			return fmt.Errorf("ledger: %s: %w", p.Key, err)
		}
		if each[l.Account.Code], err = each[l.Account.Code].Add(l.Micro); err != nil {
			return fmt.Errorf("ledger: %s: %w", p.Key, err)
		}
	}
	if sum != 0 {
		return fmt.Errorf("ledger: %s: the legs sum to %s, not to zero", p.Key, sum)
	}
	return nil
}

// accounts lists the accounts of a posting, each once, in the order in which everyone locks them: by code, with the
// platform's last since everybody needs those and waits for them.
func (p Posting) accounts() []Account {
	var list []Account
	for _, l := range p.Legs {
		if !slices.ContainsFunc(list, func(a Account) bool { return a.Code == l.Account.Code }) {
			list = append(list, l.Account)
		}
	}
	slices.SortFunc(list, func(a, b Account) int {
		if pa, pb := strings.HasPrefix(a.Code, "platform:"), strings.HasPrefix(b.Code, "platform:"); pa != pb {
			if pa {
				return 1
			}
			return -1
		}
		return strings.Compare(a.Code, b.Code)
	})
	return list
}

// hash tells the content of a posting from any other. Memo and time aren't part of it: a retry may come later.
func (p Posting) hash() []byte {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %q\n", p.Kind, p.Subject)
	for _, l := range p.Legs {
		_, _ = fmt.Fprintf(h, "%q %d\n", l.Account.Code, int64(l.Micro))
	}
	return h.Sum(nil)
}
