package agentlink

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/benchmark"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/protocol"
)

// Hello introduces a host, and asks for a benchmark when it is new or has other GPUs or another driver.
func (l *Link) Hello(ctx context.Context, now time.Time, host string, m protocol.Hello) (protocol.HelloReply, error) {
	h, err := l.fleet.Host(ctx, host)
	if err != nil {
		return protocol.HelloReply{}, err
	}
	// The benchmark is asked for before the hardware is recorded: if this process dies in between, the next hello is
	// still a change.
	if len(m.Hardware.GPUs) > 0 && l.fleet.Changes(now, h, m) {
		reason := benchmark.HardwareChanged
		if h.Hardware == nil {
			reason = benchmark.Connected
		}
		if _, err := l.benchmarks.Request(ctx, now, host, reason); err != nil {
			return protocol.HelloReply{}, err
		}
	}
	reply, _, err := l.fleet.Hello(ctx, now, host, m)
	return reply, err
}

// Heartbeat records that a host lives and what runs on it. An old one only tells that it lives.
func (l *Link) Heartbeat(ctx context.Context, now time.Time, host string, m protocol.Heartbeat) (protocol.HeartbeatReply, error) {
	m.Workloads = slices.Clone(m.Workloads) // a caller's may be shared
	for i := range m.Workloads {
		w := &m.Workloads[i]
		w.Rental, w.Code, w.Message = text(w.Rental, maxName), text(w.Code, maxName), text(w.Message, maxMessage)
	}
	b, err := l.fleet.RecordHeartbeat(ctx, now, host, m)
	if err != nil || !b.Fresh {
		return b.HeartbeatReply, err
	}
	return b.HeartbeatReply, l.rentals.Observe(ctx, now, host, m)
}

// Desired gives all that should be true on a host, of one moment.
func (l *Link) Desired(ctx context.Context, _ time.Time, host string, _ protocol.DesiredRequest) (protocol.Desired, error) {
	var d protocol.Desired
	err := l.fleet.Snapshot(ctx, host, func(q db.Querier, revision int64) (err error) {
		d = protocol.Desired{Revision: revision}
		if d.Workloads, err = l.rentals.Desired(ctx, q, host); err != nil {
			return err
		}
		d.Bench, err = l.benchmarks.Order(ctx, q, host)
		return err
	})
	if err != nil {
		return protocol.Desired{}, err
	}
	return d, nil
}

// Log stores lines of a workload's output.
func (l *Link) Log(ctx context.Context, _ time.Time, host string, m protocol.LogChunk) (protocol.LogReply, error) {
	m.Rental = text(m.Rental, maxName)
	for i := range m.Lines {
		n := &m.Lines[i]
		n.Stream, n.Text = text(n.Stream, maxName), text(n.Text, protocol.MaxLogText)
	}
	return l.rentals.AppendLog(ctx, host, m)
}

// Commit binds a host to its products.
func (l *Link) Commit(ctx context.Context, now time.Time, host string, m protocol.BenchCommit) (protocol.BenchOpen, error) {
	m.Run = text(m.Run, maxName)
	return l.benchmarks.Commit(ctx, now, host, m)
}

// Result ends a benchmark.
func (l *Link) Result(ctx context.Context, now time.Time, host string, m protocol.BenchResult) (protocol.BenchReply, error) {
	m.Run = text(m.Run, maxName)
	return l.benchmarks.Result(ctx, now, host, m)
}

// The longest texts from hosts, in bytes.
const (
	maxName    = 128
	maxMessage = 2000
)

// text keeps what the database can store of a host's words.
func text(s string, limit int) string {
	if strings.Contains(s, "\x00") {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return strings.ToValidUTF8(s[:min(len(s), limit)], "")
}
