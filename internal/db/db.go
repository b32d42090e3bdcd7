package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Tx is one transaction. Store functions take it, so that a caller decides what happens together.
type Tx = pgx.Tx

// Querier is what both a transaction and the pool can do.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// DB is a pool of connections to one database.
type DB struct {
	*pgxpool.Pool
}

// Open connects to the database at url and waits until it answers.
func Open(ctx context.Context, url string, maxConns int) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("db: the database URL can't be read: %w", err)
	}
	if maxConns > 0 {
		cfg.MaxConns = int32(min(maxConns, 1000))
	}
	cfg.ConnConfig.RuntimeParams["application_name"] = "gpunexd"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("db: connect: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("db: connect: %w", err)
	}
	return &DB{pool}, nil
}

// retries is how often InTx runs a transaction that lost against another one.
const retries = 5

// InTx runs f in a transaction and commits it when f returns nil. A deadlock or a serialization failure runs f again,
// so f must have no effect outside the transaction.
func (d *DB) InTx(ctx context.Context, f func(tx Tx) error) error {
	var err error
	for i := range retries {
		err = pgx.BeginFunc(ctx, d.Pool, f)
		if !lost(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(i+1) * 5 * time.Millisecond):
		}
	}
	return err
}

func lost(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}

// Violates says whether err is the violation of the named constraint or unique index.
func Violates(err error, constraint string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.ConstraintName == constraint
}

// ErrNoRow is what a query for exactly one row returns when there is none.
var ErrNoRow = pgx.ErrNoRows

// One reads exactly one row into a T by the names of its columns.
func One[T any](ctx context.Context, q Querier, sql string, args ...any) (T, error) {
	var zero T
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return zero, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
}

// All reads every row into a T by the names of its columns.
func All[T any](ctx context.Context, q Querier, sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// Values reads every row of a one-column query.
func Values[T any](ctx context.Context, q Querier, sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

// Value reads the one value of a one-row, one-column query.
func Value[T any](ctx context.Context, q Querier, sql string, args ...any) (T, error) {
	var v T
	err := q.QueryRow(ctx, sql, args...).Scan(&v)
	return v, err
}
