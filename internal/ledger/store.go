package ledger

import (
	"context"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/money"
)

const (
	sqlPost = `SELECT coalesce(txn, ''), outcome FROM ledger_post($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`

	sqlBalance = `SELECT coalesce((SELECT balance FROM ledger_account WHERE code = $1), 0)`

	sqlHeld = `SELECT coalesce(sum(balance), 0)::bigint FROM ledger_account WHERE owner = $1 AND code LIKE 'hold:%'`

	// The newest of each account by its index, then the newest of those: it never reads a long history whole.
	sqlLines = `
		SELECT e.seq, t.at, t.id AS txn, t.kind, t.subject, t.memo, e.account, e.micro, e.after
		  FROM ledger_account a
		 CROSS JOIN LATERAL (
		       SELECT * FROM ledger_entry WHERE account = a.code AND ($2 = 0 OR seq < $2) ORDER BY seq DESC LIMIT $3) e
		  JOIN ledger_txn t ON t.id = e.txn_id
		 WHERE a.owner = $1
		 ORDER BY e.seq DESC LIMIT $3`

	sqlAbout = `
		SELECT e.seq, t.at, t.id AS txn, t.kind, t.subject, t.memo, e.account, e.micro, e.after
		  FROM ledger_txn t JOIN ledger_entry e ON e.txn_id = t.id JOIN ledger_account a ON a.code = e.account
		 WHERE t.subject = $1 AND ($2 = '' OR a.owner = $2)
		 ORDER BY e.seq`

	// One statement, so one moment. The lists stop at a hundred: one name is proof enough that something is wrong.
	sqlAudit = `
		WITH running AS (
		  SELECT account, after, sum(micro) OVER (PARTITION BY account ORDER BY seq) AS total FROM ledger_entry
		), summed AS (
		  SELECT account, sum(micro) AS total FROM ledger_entry GROUP BY account
		), drifted AS (
		  SELECT a.code FROM ledger_account a LEFT JOIN summed s ON s.account = a.code WHERE a.balance <> coalesce(s.total, 0)
		  UNION SELECT account FROM running WHERE after <> total
		), unbalanced AS (
		  SELECT txn_id FROM ledger_entry GROUP BY txn_id HAVING sum(micro) <> 0
		)
		SELECT (SELECT count(*) FROM ledger_txn) AS transactions,
		       (SELECT count(*) FROM ledger_entry) AS entries,
		       (SELECT count(*) FROM ledger_account) AS accounts,
		       (SELECT coalesce(sum(micro), 0)::bigint FROM ledger_entry) AS sum,
		       ARRAY(SELECT txn_id FROM unbalanced ORDER BY txn_id LIMIT 100) AS unbalanced,
		       ARRAY(SELECT code FROM drifted ORDER BY code LIMIT 100) AS drifted,
		       ARRAY(SELECT code FROM ledger_account WHERE balance < floor ORDER BY code LIMIT 100) AS below_floor`
)

func post(ctx context.Context, tx db.Tx, txnID string, p Posting) (txn, outcome string, err error) {
	accounts := p.accounts()
	var codes, owners []string
	var floored []bool
	position := map[string]int{}
	for i, a := range accounts {
		codes, owners, floored = append(codes, a.Code), append(owners, a.Owner), append(floored, a.Floored)
		position[a.Code] = i
	}
	delta := make([]int64, len(accounts))
	var legAccount []int32
	var legMicro []int64
	for _, l := range p.Legs {
		i := position[l.Account.Code]
		delta[i] += int64(l.Micro)
		legAccount, legMicro = append(legAccount, int32(i+1)), append(legMicro, int64(l.Micro))
	}
	err = tx.QueryRow(ctx, sqlPost, txnID, p.Key, p.hash(), p.Kind, p.Subject, p.Memo, p.At,
		codes, owners, floored, delta, legAccount, legMicro).Scan(&txn, &outcome)
	return txn, outcome, err
}

func balance(ctx context.Context, q db.Querier, code string) (money.Micro, error) {
	return db.Value[money.Micro](ctx, q, sqlBalance, code)
}

func held(ctx context.Context, q db.Querier, account string) (money.Micro, error) {
	return db.Value[money.Micro](ctx, q, sqlHeld, account)
}

func lines(ctx context.Context, q db.Querier, owner string, before int64, limit int) ([]Line, error) {
	return inUTC(db.All[Line](ctx, q, sqlLines, owner, before, limit))
}

func about(ctx context.Context, q db.Querier, subject, owner string) ([]Line, error) {
	return inUTC(db.All[Line](ctx, q, sqlAbout, subject, owner))
}

// inUTC makes times independent of the zone of the process that reads them.
func inUTC(list []Line, err error) ([]Line, error) {
	for i := range list {
		list[i].At = list[i].At.UTC()
	}
	return list, err
}

func audit(ctx context.Context, q db.Querier) (Audit, error) {
	return db.One[Audit](ctx, q, sqlAudit)
}
