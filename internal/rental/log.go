package rental

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/protocol"
)

// maxLines is how many lines of a rental's output are kept.
const maxLines = 20_000

// Logs gives lines with a greater Seq than after (-1 for all), oldest first.
func (s *Service) Logs(ctx context.Context, id string, after int64, limit int) ([]LogLine, error) {
	list, err := linesOf(ctx, s.db, id, after, min(max(limit, 1), maxLines))
	if err != nil {
		return nil, fmt.Errorf("rental: logs: %w", err)
	}
	return list, nil
}

// AppendLog stores lines of a rental on this host; lines that it has are ignored, and none is stored behind a gap. A
// chunk without lines asks which is wanted next. A rental that isn't this host's, or has said enough, gets a negative
// answer: the stream ends for good.
func (s *Service) AppendLog(ctx context.Context, host string, c protocol.LogChunk) (protocol.LogReply, error) {
	const noMore = -1
	var reply protocol.LogReply
	err := s.db.InTx(ctx, func(tx db.Tx) error {
		requested, err := requestedOn(ctx, tx, c.Rental, host)
		if errors.Is(err, db.ErrNoRow) {
			reply.Next = noMore
			return nil
		}
		if err != nil {
			return err
		}
		if reply.Next, err = nextLine(ctx, tx, c.Rental); err != nil {
			return err
		}
		var fresh []LogLine
		for _, l := range c.Lines {
			if l.Seq == reply.Next && reply.Next < maxLines {
				fresh = append(fresh, line(l, requested))
				reply.Next++
			}
		}
		if err := insertLines(ctx, tx, c.Rental, fresh); err != nil {
			return err
		}
		if reply.Next >= maxLines {
			reply.Next = noMore
		}
		return nil
	})
	if err != nil {
		return protocol.LogReply{}, fmt.Errorf("rental: append log: %w", err)
	}
	return reply, nil
}

// line makes a line storable. A time that no clock shows becomes the rental's own.
func line(l protocol.LogLine, requested time.Time) LogLine {
	t := text(l.Text)
	if len(t) > protocol.MaxLogText {
		t = strings.ToValidUTF8(t[:protocol.MaxLogText], "")
	}
	if l.At.Year() < 2000 || l.At.Year() > 2200 {
		l.At = requested
	}
	if l.Stream != "stderr" {
		l.Stream = "stdout"
	}
	return LogLine{Seq: l.Seq, At: l.At, Stream: l.Stream, Text: t}
}
