package ledger

import (
	"time"

	"github.com/gpunex/gpunex/internal/money"
)

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
