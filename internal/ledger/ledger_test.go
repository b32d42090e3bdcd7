package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/db/dbtest"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/money"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

type books struct {
	*ledger.Ledger
	db *db.DB
}

func newBooks(t testing.TB) books {
	d := dbtest.New(t)
	b := books{ledger.New(d), d}
	t.Cleanup(func() {
		if a, err := b.Audit(context.Background()); err != nil || (!a.OK() && !t.Failed()) {
			t.Errorf("audit at the end: %+v, %v", a, err)
		}
	})
	return b
}

// post posts in a transaction of its own.
func (b books) post(ctx context.Context, p ledger.Posting) (already bool, err error) {
	err = b.db.InTx(ctx, func(tx db.Tx) (err error) {
		_, already, err = b.Post(ctx, tx, p)
		return err
	})
	return already, err
}

func (b books) balance(t testing.TB, a ledger.Account) money.Micro {
	t.Helper()
	v, err := b.Balance(t.Context(), b.db, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// move makes a posting that moves money between two accounts.
func move(key string, from, to ledger.Account, amount money.Micro) ledger.Posting {
	return ledger.Posting{Key: key, Kind: "move", Subject: "s", At: noon, Legs: []ledger.Leg{{from, -amount}, {to, amount}}}
}

func (b books) fund(t testing.TB, account string, amount money.Micro) {
	t.Helper()
	if err := b.GiveTestFunds(t.Context(), noon, "fund "+account, account, "prs_1", amount); err != nil {
		t.Fatal(err)
	}
}

func TestPostMovesMoney(t *testing.T) {
	b := newBooks(t)
	b.fund(t, "acc_1", 100)
	already, err := b.post(t.Context(), ledger.Posting{Key: "k", Kind: "usage", Subject: "rnt_1", Memo: "an hour", At: noon, Legs: []ledger.Leg{
		{ledger.Available("acc_1"), -50}, {ledger.Earned("acc_2"), 45}, {ledger.Fees(), 5}}})
	if err != nil || already {
		t.Fatalf("got %v, %v", already, err)
	}
	for a, want := range map[ledger.Account]money.Micro{
		ledger.Available("acc_1"): 50, ledger.Earned("acc_2"): 45, ledger.Fees(): 5, ledger.TestFunds(): -100, ledger.Payable("acc_2"): 0,
	} {
		if got := b.balance(t, a); got != want {
			t.Errorf("%s: got %d, want %d", a.Code, got, want)
		}
	}
	lines, err := b.About(t.Context(), "rnt_1", "")
	if err != nil || len(lines) != 3 || lines[2].Account != "platform:fees" || lines[2].After != 5 || !lines[0].At.Equal(noon) || lines[0].Memo != "an hour" {
		t.Errorf("about: got %+v, %v", lines, err)
	}
	if lines, err = b.About(t.Context(), "rnt_1", "acc_2"); err != nil || len(lines) != 1 || lines[0].Micro != 45 {
		t.Errorf("about for the provider: got %+v, %v", lines, err)
	}
	a, err := b.Audit(t.Context())
	if err != nil || !a.OK() || a.Transactions != 2 || a.Entries != 5 || a.Accounts != 4 {
		t.Errorf("audit: got %+v, %v", a, err)
	}
}

func TestSameAccountTwiceInOnePosting(t *testing.T) {
	b := newBooks(t)
	b.fund(t, "acc_1", 10)
	p := ledger.Posting{Key: "k", Kind: "move", Subject: "s", At: noon, Legs: []ledger.Leg{
		{ledger.Available("acc_1"), -15}, {ledger.Fees(), 8}, {ledger.Available("acc_1"), 7}}}
	if _, err := b.post(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got := b.balance(t, ledger.Available("acc_1")); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
}

func TestWrongPostingsNeverReachTheDatabase(t *testing.T) {
	a, f := ledger.Available("acc_1"), ledger.Fees()
	for name, p := range map[string]ledger.Posting{
		"unbalanced":              {Key: "k", Kind: "x", At: noon, Legs: []ledger.Leg{{a, -1}, {f, 2}}},
		"one leg":                 {Key: "k", Kind: "x", At: noon, Legs: []ledger.Leg{{a, 1}}},
		"no legs":                 {Key: "k", Kind: "x", At: noon},
		"zero leg":                {Key: "k", Kind: "x", At: noon, Legs: []ledger.Leg{{a, 0}, {f, 0}}},
		"no account":              {Key: "k", Kind: "x", At: noon, Legs: []ledger.Leg{{ledger.Account{}, -1}, {f, 1}}},
		"no key":                  {Kind: "x", At: noon, Legs: []ledger.Leg{{a, -1}, {f, 1}}},
		"no kind":                 {Key: "k", At: noon, Legs: []ledger.Leg{{a, -1}, {f, 1}}},
		"no time":                 {Key: "k", Kind: "x", Legs: []ledger.Leg{{a, -1}, {f, 1}}},
		"an account out of range": {Key: "k", Kind: "x", At: noon, Legs: []ledger.Leg{{a, 1 << 62}, {f, -1 << 62}, {a, 1 << 62}, {f, -1 << 62}}},
		"out of range":            {Key: "k", Kind: "x", At: noon, Legs: []ledger.Leg{{a, 1 << 62}, {f, 1 << 62}, {a, 1 << 62}, {f, 1 << 62}}},
	} {
		// A nil transaction: reaching it would panic.
		if _, _, err := ledger.New(nil).Post(t.Context(), nil, p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSameKey(t *testing.T) {
	b := newBooks(t)
	b.fund(t, "acc_1", 100)
	p := move("k", ledger.Available("acc_1"), ledger.Fees(), 100)
	if _, err := b.post(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	p.At, p.Memo = noon.Add(time.Hour), "later"
	if already, err := b.post(t.Context(), p); err != nil || !already {
		t.Errorf("again, with the account empty: got %v, %v", already, err)
	}
	for name, change := range map[string]func(*ledger.Posting){
		"kind":    func(p *ledger.Posting) { p.Kind = "other" },
		"subject": func(p *ledger.Posting) { p.Subject = "other" },
		"amount":  func(p *ledger.Posting) { p.Legs = []ledger.Leg{{ledger.Available("acc_1"), -1}, {ledger.Fees(), 1}} },
		"account": func(p *ledger.Posting) {
			p.Legs = []ledger.Leg{{ledger.Available("acc_1"), -100}, {ledger.Treasury(), 100}}
		},
	} {
		q := p
		change(&q)
		err := b.db.InTx(t.Context(), func(tx db.Tx) error {
			if _, _, err := b.Post(t.Context(), tx, q); !errors.Is(err, ledger.ErrKeyReused) {
				t.Errorf("other %s: got %v", name, err)
			}
			_, err := tx.Exec(t.Context(), "SELECT 1")
			return err
		})
		if err != nil {
			t.Errorf("other %s: the transaction is poisoned: %v", name, err)
		}
	}
}

func TestFundsErrorLeavesTransactionAndKeyUsable(t *testing.T) {
	b := newBooks(t)
	b.fund(t, "acc_1", 10)
	p := move("k", ledger.Available("acc_1"), ledger.Hold("acc_1", "rnt_1"), 11)
	err := b.db.InTx(t.Context(), func(tx db.Tx) error {
		if _, _, err := b.Post(t.Context(), tx, p); !errors.Is(err, ledger.ErrFunds) {
			t.Errorf("got %v, want ErrFunds", err)
		}
		_, _, err := b.Post(t.Context(), tx, move("k2", ledger.Available("acc_1"), ledger.Fees(), 4))
		return err
	})
	if err != nil {
		t.Fatalf("the transaction is poisoned: %v", err)
	}
	if got := b.balance(t, ledger.Available("acc_1")); got != 6 {
		t.Errorf("got %d, want 6", got)
	}
	if err := b.GiveTestFunds(t.Context(), noon, "more", "acc_1", "prs_1", 5); err != nil {
		t.Fatal(err)
	}
	if already, err := b.post(t.Context(), p); err != nil || already {
		t.Errorf("the same key after a top-up: got %v, %v", already, err)
	}
	if got, err := b.Held(t.Context(), b.db, "acc_1"); err != nil || got != 11 {
		t.Errorf("held: got %d, %v", got, err)
	}
}

func TestConcurrentSameKeyIsPostedOnce(t *testing.T) {
	b := newBooks(t)
	b.fund(t, "acc_1", 50) // exactly enough: a loser must hear already, not ErrFunds
	var posted atomic.Int64
	var wg sync.WaitGroup
	for i := range 50 {
		for range 20 {
			wg.Go(func() {
				already, err := b.post(t.Context(), move(fmt.Sprint("k", i), ledger.Available("acc_1"), ledger.Earned(fmt.Sprint("acc_p", i%7)), 1))
				if err != nil {
					t.Error(err)
				} else if !already {
					posted.Add(1)
				}
			})
		}
	}
	wg.Wait()
	if posted.Load() != 50 || b.balance(t, ledger.Available("acc_1")) != 0 {
		t.Errorf("posted %d times, balance %d; want 50 and 0", posted.Load(), b.balance(t, ledger.Available("acc_1")))
	}
}

func TestConcurrentSameKeyOnOtherAccounts(t *testing.T) {
	b := newBooks(t)
	b.fund(t, "acc_1", 1000)
	b.fund(t, "acc_2", 1000)
	var posted, reused atomic.Int64
	var wg sync.WaitGroup
	for i := range 40 {
		from, to := fmt.Sprint("acc_", 1+i%2), ledger.Earned(fmt.Sprint("acc_p", i))
		wg.Go(func() {
			_, err := b.post(t.Context(), move("k", ledger.Available(from), to, 1))
			switch {
			case err == nil:
				posted.Add(1)
			case errors.Is(err, ledger.ErrKeyReused):
				reused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if posted.Load() != 1 || reused.Load() != 39 {
		t.Errorf("posted %d, reused %d; want 1 and 39", posted.Load(), reused.Load())
	}
}

func TestConcurrentDebitsStopAtTheFloor(t *testing.T) {
	b := newBooks(t)
	b.fund(t, "acc_1", 50)
	var paid, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range 400 {
		wg.Go(func() {
			_, err := b.post(t.Context(), move(fmt.Sprint("k", i), ledger.Available("acc_1"), ledger.Fees(), 1))
			switch {
			case err == nil:
				paid.Add(1)
			case errors.Is(err, ledger.ErrFunds):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if paid.Load() != 50 || refused.Load() != 350 {
		t.Errorf("paid %d, refused %d; want 50 and 350", paid.Load(), refused.Load())
	}
}

func TestRandomTransfersDoNotDeadlock(t *testing.T) {
	b := newBooks(t)
	const people = 6
	for i := range people {
		b.fund(t, fmt.Sprint("acc_", i), 1_000_000)
	}
	var wg sync.WaitGroup
	for w := range 12 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 7))
			for n := range 60 {
				i, j := r.IntN(people), r.IntN(people-1)
				if j >= i {
					j++
				}
				to := ledger.Available(fmt.Sprint("acc_", j))
				if r.IntN(3) == 0 { // an account that may be new
					to = ledger.Earned(fmt.Sprint("acc_", r.IntN(40)))
				}
				p := ledger.Posting{Key: fmt.Sprint(w, "-", n), Kind: "move", Subject: "s", At: noon, Legs: []ledger.Leg{
					{ledger.Fees(), 1}, {ledger.Available(fmt.Sprint("acc_", i)), -10}, {to, 9}}}
				// No InTx: a deadlock would be run again there and stay unseen.
				tx, err := b.db.Begin(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if _, _, err = b.Post(t.Context(), tx, p); err == nil {
					err = tx.Commit(t.Context())
				} else {
					_ = tx.Rollback(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := b.balance(t, ledger.Fees()); got != 12*60 {
		t.Errorf("fees: got %d, want %d", got, 12*60)
	}
}

func TestLinesPageBackwards(t *testing.T) {
	b := newBooks(t)
	b.fund(t, "acc_1", 100)
	for i := range 7 {
		if _, err := b.post(t.Context(), move(fmt.Sprint("k", i), ledger.Available("acc_1"), ledger.Hold("acc_1", fmt.Sprint("rnt_", i%2)), money.Micro(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	var seen []ledger.Line
	for before := int64(0); ; {
		page, err := b.Lines(t.Context(), "acc_1", before, 4)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		seen = append(seen, page...)
		before = page[len(page)-1].Seq
	}
	if len(seen) != 15 { // the gift, and two lines a move
		t.Fatalf("got %d lines, want 15", len(seen))
	}
	var sum money.Micro
	for i, l := range seen {
		sum += l.Micro
		if i > 0 && l.Seq >= seen[i-1].Seq {
			t.Errorf("line %d isn't older than the one before", i)
		}
	}
	if sum != 100 {
		t.Errorf("lines sum to %d, want 100", sum)
	}
	if other, err := b.Lines(t.Context(), "acc_2", 0, 10); err != nil || len(other) != 0 {
		t.Errorf("another owner sees %v, %v", other, err)
	}
}

func TestGiveTestFunds(t *testing.T) {
	b := newBooks(t)
	for range 3 {
		b.fund(t, "acc_1", 1_000_000*money.USDC)
	}
	if got := b.balance(t, ledger.Available("acc_1")); got != 1_000_000*money.USDC {
		t.Errorf("got %s", got)
	}
	for _, amount := range []money.Micro{0, -1, 1_000_000*money.USDC + 1} {
		if err := b.GiveTestFunds(t.Context(), noon, "k", "acc_1", "prs_1", amount); !fault.Is(err, "amount_range") {
			t.Errorf("%s: got %v", amount, err)
		}
	}
	if err := b.GiveTestFunds(t.Context(), noon, "fund acc_1", "acc_1", "prs_1", 1); !errors.Is(err, ledger.ErrKeyReused) {
		t.Errorf("another amount under the key: got %v", err)
	}
}

func BenchmarkPost(b *testing.B) {
	k := newBooks(b)
	const people = 200
	for i := range people {
		k.fund(b, fmt.Sprint("acc_", i), 1_000_000*money.USDC)
	}
	var n atomic.Int64
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1)
			_, err := k.post(context.Background(), ledger.Posting{Key: fmt.Sprint(i), Kind: "usage", Subject: "rnt_1", At: noon, Legs: []ledger.Leg{
				{ledger.Available(fmt.Sprint("acc_", i%people)), -10}, {ledger.Earned(fmt.Sprint("acc_", (i*7)%people)), 9}, {ledger.Fees(), 1}}})
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}
