package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gpunex/gpunex/internal/db"
)

// errCrash is what the platform's last words would be when its process dies.
var errCrash = errors.New("sim: the platform's process died")

// crasher makes the platform die before one of its statements: from there on none reaches the database, so that the
// transaction under way is never committed, as when a process is killed.
type crasher struct {
	armed bool
	left  int // statements until then
	dead  bool
}

var (
	_ pgx.QueryTracer = (*crasher)(nil)
	_ pgx.BatchTracer = (*crasher)(nil)
)

// openDB connects with a crasher in the way.
func openDB(ctx context.Context, url string, c *crasher) (*db.DB, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	cfg.MaxConns = 8
	cfg.ConnConfig.Tracer = c
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	return &db.DB{Pool: pool}, nil
}

func (c *crasher) pass(ctx context.Context) context.Context {
	if !c.armed {
		return ctx
	}
	if c.left--; c.left >= 0 {
		return ctx
	}
	c.dead = true
	gone, cancel := context.WithCancelCause(ctx)
	cancel(errCrash)
	return gone
}

// TraceQueryStart is called before each statement.
func (c *crasher) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return c.pass(ctx)
}

// TraceQueryEnd is called after each statement.
func (c *crasher) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart is called before each batch.
func (c *crasher) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return c.pass(ctx)
}

// TraceBatchQuery is called for each statement of a batch.
func (c *crasher) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd is called after each batch.
func (c *crasher) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// try does one call on the platform, during which its process may die. Then a new one takes its place, and the error is
// errCrash.
func (w *World) try(p float64, call func() error) error {
	if w.crash.armed || !w.chance(p) {
		return call()
	}
	*w.crash = crasher{armed: true, left: w.rng.IntN(12)}
	err := call()
	died := w.crash.dead
	*w.crash = crasher{}
	if !died {
		return err
	}
	w.reboot()
	if err == nil {
		return nil // it died with all done
	}
	w.note("  the platform dies and comes back")
	return errCrash
}
