package benchmark

import (
	"context"
	"errors"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/gpu"
	"github.com/gpunex/gpunex/internal/protocol"
)

// runRow is a run with what only this package needs.
type runRow struct {
	Run
	Seed       int64
	Size       int
	Rounds     int
	Commitment []protocol.GPUCommit
	OpenRound  *int
	OpenRows   []int
}

const (
	runColumns = `r.id, r.host_id, r.reason, r.state, r.requested_at, r.finished_at, r.host_figures AS host, r.simulated, r.detail`
	rowColumns = runColumns + `, r.seed, r.size, r.rounds, r.commitment, r.open_round, r.open_rows`
)

// insertRun makes a run unless the host has an open one.
func insertRun(ctx context.Context, tx db.Tx, r runRow) (made bool, err error) {
	tag, err := tx.Exec(ctx, `INSERT INTO benchmark_run (id, host_id, reason, state, seed, size, rounds, requested_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (host_id) WHERE state IN ('requested', 'running') DO NOTHING`,
		r.ID, r.HostID, r.Reason, r.State, r.Seed, r.Size, r.Rounds, r.RequestedAt)
	return tag.RowsAffected() > 0, err
}

func lockOpenRun(ctx context.Context, tx db.Tx, host string) (runRow, error) {
	return db.One[runRow](ctx, tx, `SELECT `+rowColumns+` FROM benchmark_run r WHERE r.host_id = $1 AND r.state IN ('requested', 'running') FOR NO KEY UPDATE`, host)
}

// orderedRun is the open run of a host none of whose GPUs is let.
func orderedRun(ctx context.Context, q db.Querier, host string) (runRow, error) {
	return db.One[runRow](ctx, q, `SELECT `+rowColumns+` FROM benchmark_run r WHERE r.host_id = $1 AND r.state IN ('requested', 'running')
		AND NOT EXISTS (SELECT 1 FROM gpu g JOIN claim c ON c.gpu_id = g.id WHERE g.host_id = r.host_id AND upper_inf(c.during))`, host)
}

func runByID(ctx context.Context, q db.Querier, id string) (runRow, error) {
	return db.One[runRow](ctx, q, `SELECT `+rowColumns+` FROM benchmark_run r WHERE r.id = $1`, id)
}

func lockRun(ctx context.Context, tx db.Tx, id string) (runRow, error) {
	return db.One[runRow](ctx, tx, `SELECT `+rowColumns+` FROM benchmark_run r WHERE r.id = $1 FOR NO KEY UPDATE`, id)
}

func runsOf(ctx context.Context, q db.Querier, host string, limit int) ([]Run, error) {
	return db.All[Run](ctx, q, `SELECT `+runColumns+` FROM benchmark_run r WHERE r.host_id = $1 ORDER BY r.requested_at DESC, r.id DESC LIMIT $2`, host, limit)
}

func lateRuns(ctx context.Context, q db.Querier, before time.Time) ([]string, error) {
	return db.Values[string](ctx, q, `SELECT id FROM benchmark_run WHERE state IN ('requested', 'running') AND requested_at < $1 ORDER BY id`, before)
}

// dueHosts are online and idle, have a GPU that wasn't judged since one time, and weren't asked since another.
func dueHosts(ctx context.Context, q db.Querier, judgedBefore, askedBefore time.Time) ([]string, error) {
	return db.Values[string](ctx, q, `SELECT h.id FROM host h WHERE h.online AND h.retired_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM gpu g JOIN claim c ON c.gpu_id = g.id WHERE g.host_id = h.id AND upper_inf(c.during))
		AND NOT EXISTS (SELECT 1 FROM benchmark_run r WHERE r.host_id = h.id AND (r.state IN ('requested', 'running')
			OR r.requested_at > $2))
		AND EXISTS (SELECT 1 FROM gpu g WHERE g.host_id = h.id AND g.present AND g.fault = ''
			AND NOT EXISTS (SELECT 1 FROM benchmark_result v WHERE v.gpu_id = g.id AND v.at > $1))
		ORDER BY h.id`, judgedBefore, askedBefore)
}

func saveCommit(ctx context.Context, tx db.Tx, now time.Time, id string, proof []protocol.GPUCommit) error {
	_, err := tx.Exec(ctx, `UPDATE benchmark_run SET state = 'running', committed_at = $2, commitment = $3 WHERE id = $1`, id, now, proof)
	return err
}

func saveOpening(ctx context.Context, tx db.Tx, id string, round int, rows []int) error {
	_, err := tx.Exec(ctx, `UPDATE benchmark_run SET open_round = $2, open_rows = $3 WHERE id = $1`, id, round, rows)
	return err
}

func finishRun(ctx context.Context, tx db.Tx, now time.Time, id string, e ending) error {
	_, err := tx.Exec(ctx, `UPDATE benchmark_run SET state = $2, finished_at = $3, host_figures = $4, simulated = $5, detail = $6 WHERE id = $1`,
		id, e.State, now, e.Host, e.Simulated, e.Detail)
	return err
}

func insertResult(ctx context.Context, tx db.Tx, now time.Time, run string, v judged) error {
	failures := v.Failures
	if failures == nil {
		failures = []Failure{}
	}
	_, err := tx.Exec(ctx, `INSERT INTO benchmark_result (run_id, gpu_id, figures, score, health, passed, proof_ok, failures, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, run, v.ID, v.Figures, v.Score, v.Health, v.Passed, v.ProofOK, failures, now)
	return err
}

// lastPassed says whether the newest verdict of a GPU passed; nil when there is none.
func lastPassed(ctx context.Context, q db.Querier, gpuID string) (*bool, error) {
	passed, err := db.Value[bool](ctx, q, `SELECT passed FROM benchmark_result WHERE gpu_id = $1 ORDER BY at DESC, run_id DESC LIMIT 1`, gpuID)
	if errors.Is(err, db.ErrNoRow) {
		return nil, nil
	}
	return &passed, err
}

func verdictsOf(ctx context.Context, q db.Querier, gpuIDs []string) (map[string]Verdict, error) {
	type row struct {
		GPUID, RunID, Model string
		At                  time.Time
		Figures             map[string]float64
		Score               int
		Health              float64
		Passed, ProofOK     bool
		Failures            []Failure
	}
	rows, err := db.All[row](ctx, q, `SELECT DISTINCT ON (v.gpu_id) v.gpu_id, v.run_id, g.model, v.at, v.figures, v.score, v.health, v.passed, v.proof_ok, v.failures
		FROM benchmark_result v JOIN gpu g ON g.id = v.gpu_id WHERE v.gpu_id = ANY ($1) ORDER BY v.gpu_id, v.at DESC, v.run_id DESC`, gpuIDs)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Verdict, len(rows))
	for _, r := range rows {
		m, _ := gpu.Find(r.Model)
		out[r.GPUID] = Verdict{GPUID: r.GPUID, RunID: r.RunID, At: r.At, Figures: measured(m, r.Figures), Score: r.Score, Health: r.Health,
			Passed: r.Passed, ProofOK: r.ProofOK, Failures: r.Failures}
	}
	return out, nil
}
