package ledger_test

import (
	"slices"
	"testing"

	"github.com/gpunex/gpunex/internal/ledger"
)

// The database itself refuses what no program may do, however it gets there.
func TestDatabaseRefuses(t *testing.T) {
	b := newBooks(t)
	b.fund(t, "acc_1", 100)
	const newTxn = `INSERT INTO ledger_txn (id, key, request_hash, kind, subject, memo, at) VALUES ('txn_x', 'x', '', 'x', 'x', '', '2026-01-01'); `
	for name, sql := range map[string]string{
		"an unbalanced entry": newTxn + `INSERT INTO ledger_entry (txn_id, leg, account, micro, after)
			VALUES ('txn_x', 1, 'platform:test_funds', -5, 0), ('txn_x', 2, 'customer:acc_1:available', 4, 0)`,
		"a single leg":                     newTxn + `INSERT INTO ledger_entry (txn_id, leg, account, micro, after) VALUES ('txn_x', 1, 'platform:test_funds', -5, 0)`,
		"a zero leg":                       newTxn + `INSERT INTO ledger_entry (txn_id, leg, account, micro, after) VALUES ('txn_x', 1, 'platform:test_funds', 0, 0)`,
		"a leg added later":                `INSERT INTO ledger_entry (txn_id, leg, account, micro, after) SELECT id, 9, 'platform:test_funds', 1, 0 FROM ledger_txn`,
		"a balanced pair added later":      `INSERT INTO ledger_entry (txn_id, leg, account, micro, after) SELECT id, 8 + n, 'platform:test_funds', 1 - 2 * n, 0 FROM ledger_txn, generate_series(0, 1) n`,
		"a change of an entry":             `UPDATE ledger_entry SET micro = micro * 2`,
		"a change that keeps everything":   `UPDATE ledger_entry SET micro = micro`,
		"a change of a transaction":        `UPDATE ledger_txn SET memo = 'x'`,
		"removing an entry":                `DELETE FROM ledger_entry WHERE micro > 0`,
		"removing a transaction":           `DELETE FROM ledger_txn`,
		"emptying the entries":             `TRUNCATE ledger_entry`,
		"emptying everything":              `TRUNCATE ledger_txn CASCADE`,
		"a balance below the floor":        `UPDATE ledger_account SET balance = -1 WHERE code = 'customer:acc_1:available'`,
		"removing an account with entries": `DELETE FROM ledger_account WHERE code = 'customer:acc_1:available'`,
	} {
		if _, err := b.db.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s was allowed", name)
		}
	}
	a, err := b.Audit(t.Context())
	if err != nil || !a.OK() || a.Entries != 2 || a.Transactions != 1 {
		t.Errorf("audit: got %+v, %v", a, err)
	}
}

func TestAuditFindsTampering(t *testing.T) {
	const available = "customer:acc_1:available"
	without := func(sql string) string { // a superuser can switch the triggers off for a session
		return `SET LOCAL session_replication_role = replica; ` + sql
	}
	for name, c := range map[string]struct {
		sql   string
		found func(ledger.Audit) bool
	}{
		"a balance": {`UPDATE ledger_account SET balance = balance + 1 WHERE code = '` + available + `'`,
			func(a ledger.Audit) bool { return slices.Contains(a.Drifted, available) && a.Sum == 0 }},
		"an entry": {without(`UPDATE ledger_entry SET micro = micro + 1 WHERE account = '` + available + `'`),
			func(a ledger.Audit) bool {
				return a.Sum == 1 && len(a.Unbalanced) == 1 && slices.Contains(a.Drifted, available)
			}},
		"an entry and its balance": {without(`UPDATE ledger_entry SET micro = micro + 1, after = after + 1 WHERE account = '` + available + `'; UPDATE ledger_account SET balance = balance + 1 WHERE code = '` + available + `'`),
			func(a ledger.Audit) bool { return len(a.Unbalanced) == 1 && len(a.Drifted) == 0 }},
		"a running balance": {without(`UPDATE ledger_entry SET after = after + 1 WHERE account = '` + available + `'`),
			func(a ledger.Audit) bool { return slices.Contains(a.Drifted, available) }},
		"both balances of a pair": {`UPDATE ledger_account SET balance = balance * 2`,
			func(a ledger.Audit) bool { return len(a.Drifted) == 2 && a.Sum == 0 }},
		"a removed entry": {without(`DELETE FROM ledger_entry WHERE account = '` + available + `'`),
			func(a ledger.Audit) bool { return len(a.Unbalanced) == 1 && slices.Contains(a.Drifted, available) }},
		"a balance below its floor": {`ALTER TABLE ledger_account DROP CONSTRAINT ledger_floor; UPDATE ledger_account SET balance = -1 WHERE code = '` + available + `'`,
			func(a ledger.Audit) bool { return slices.Contains(a.BelowFloor, available) }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBooks(t)
			b.fund(t, "acc_1", 100)
			tx, err := b.db.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), c.sql); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			a, err := b.Audit(t.Context())
			if err != nil || a.OK() || !c.found(a) {
				t.Errorf("got %+v, %v", a, err)
			}
			// Leave the books as the end of every test expects them: in order.
			if _, err := b.db.Exec(t.Context(), `DROP TABLE ledger_entry CASCADE; CREATE TABLE ledger_entry (seq bigint, txn_id text, account text, micro bigint, after bigint);
				DELETE FROM ledger_account`); err != nil {
				t.Fatal(err)
			}
		})
	}
}
