package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/protocol"
)

// Beat is what a heartbeat meets.
type Beat struct {
	protocol.HeartbeatReply
	// Fresh says that no newer heartbeat has come since the host's hello. What one that isn't says is out of date.
	Fresh bool
}

// RecordHeartbeat extends the host's presence to now and stores what the GPUs do. A beat that comes late or again takes
// nothing back: it asks for a hello, which begins the order anew, should the host's clock have been set back.
// Fault: host_not_found.
func (s *Service) RecordHeartbeat(ctx context.Context, now time.Time, host string, hb protocol.Heartbeat) (Beat, error) {
	b := Beat{HeartbeatReply: protocol.HeartbeatReply{IntervalMS: s.interval()}}
	err := s.db.InTx(ctx, func(tx db.Tx) error {
		seen, err := see(ctx, tx, now, hb.HostTime, host, max(hb.Applied, 0))
		if errors.Is(err, db.ErrNoRow) {
			return hostNotFound()
		}
		if err != nil {
			return err
		}
		b.Revision, b.Hello, b.Fresh = seen.DesiredRevision, seen.Unknown || !seen.Fresh, seen.Fresh
		if !seen.WasOnline {
			if err := openPresence(ctx, tx, now, host); err != nil {
				return err
			}
		}
		if !seen.Fresh {
			return nil
		}
		return saveTelemetry(ctx, tx, host, saneTelemetry(hb.GPUs))
	})
	if err != nil {
		return Beat{}, fmt.Errorf("fleet: heartbeat: %w", err)
	}
	return b, nil
}

// Sweep marks hosts offline that have been silent too long, closing their presence at the last heartbeat. It gives
// their identifiers.
func (s *Service) Sweep(ctx context.Context, now time.Time) (offline []string, err error) {
	err = s.db.InTx(ctx, func(tx db.Tx) error {
		offline, err = markOffline(ctx, tx, now.Add(-s.cfg.Unreachable))
		if err != nil || len(offline) == 0 {
			return err
		}
		return closePresence(ctx, tx, offline)
	})
	if err != nil {
		return nil, fmt.Errorf("fleet: sweep: %w", err)
	}
	return offline, nil
}
