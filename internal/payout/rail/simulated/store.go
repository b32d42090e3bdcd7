package simulated

import (
	"context"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/money"
)

type transfer struct {
	Reference   string
	Destination string
	Micro       money.Micro
}

const (
	sqlSend = `INSERT INTO simulated_transfer (reference, destination, micro, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (reference) DO NOTHING`
	sqlFind = `SELECT reference, destination, micro FROM simulated_transfer WHERE reference = $1`
)

// send gives the transfer that stands under the reference: this one, or the one that was there before.
func send(ctx context.Context, q db.Querier, t transfer, now time.Time) (transfer, error) {
	if _, err := q.Exec(ctx, sqlSend, t.Reference, t.Destination, t.Micro, now); err != nil {
		return transfer{}, err
	}
	return find(ctx, q, t.Reference)
}

func find(ctx context.Context, q db.Querier, reference string) (transfer, error) {
	return db.One[transfer](ctx, q, sqlFind, reference)
}
