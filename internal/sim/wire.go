package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gpunex/gpunex/internal/protocol"
)

// errLost is what a host sees of a message that didn't get through, or whose answer didn't.
var errLost = errors.New("sim: no answer")

// wire is a host's link to the platform, through which not everything comes.
type wire struct {
	w *World
	h *host
	// cut says until when nothing gets through.
	cut time.Time
	// held are heartbeats that are under way and come late.
	held []late
	// lie makes the wire say that what has ended runs: the invariants must notice.
	lie bool
	// last is the newest heartbeat that was sent, for replays.
	last *late
}

// late is a heartbeat that has been sent and comes, perhaps again, later.
type late struct {
	sent, due time.Time
	beat      protocol.Heartbeat
}

// The probabilities that a message meets.
const (
	pDropRequest = 0.03
	pDropReply   = 0.03
	pDouble      = 0.03
	pLate        = 0.02
	pReplay      = 0.02
	pDie         = 0.01
)

func (l *wire) isCut() bool { return l.w.now.Before(l.cut) }

// send carries one message to the platform and its answer back, or not.
func send[Reply any](l *wire, what string, deliver func() (Reply, error)) (Reply, error) {
	var none Reply
	switch {
	case l.isCut():
		return none, errLost
	case l.w.chance(pDropRequest):
		l.w.note("  %s: %s lost", l.h.name, what)
		return none, errLost
	}
	reply, err := arrive(l, what, deliver)
	if err == nil && l.w.chance(pDouble) {
		l.w.note("  %s: %s doubled", l.h.name, what)
		reply, err = arrive(l, what, deliver)
	}
	if err != nil {
		return none, err
	}
	if l.w.chance(pDropReply) {
		l.w.note("  %s: answer to %s lost", l.h.name, what)
		return none, errLost
	}
	return reply, nil
}

// arrive does one message's work on the platform. Whatever error it meets there, the host only learns that there was
// no answer; one that the platform can't explain breaks the world.
func arrive[Reply any](l *wire, what string, deliver func() (Reply, error)) (Reply, error) {
	var reply Reply
	err := l.w.try(pDie, func() (err error) {
		reply, err = deliver()
		return err
	})
	if err == nil {
		return reply, nil
	}
	if accept(err) != nil && l.w.broken == nil {
		l.w.broken = errors.Join(errors.New(l.h.name+": "+what), err)
	}
	return reply, errLost
}

// Hello is agent.Link.
func (l *wire) Hello(ctx context.Context, m protocol.Hello) (protocol.HelloReply, error) {
	return send(l, "hello", func() (protocol.HelloReply, error) { return l.w.p.link.Hello(ctx, l.w.now, l.h.id, m) })
}

// Desired is agent.Link.
func (l *wire) Desired(ctx context.Context, m protocol.DesiredRequest) (protocol.Desired, error) {
	return send(l, "desired", func() (protocol.Desired, error) { return l.w.p.link.Desired(ctx, l.w.now, l.h.id, m) })
}

// Log is agent.Link.
func (l *wire) Log(ctx context.Context, m protocol.LogChunk) (protocol.LogReply, error) {
	return send(l, "log", func() (protocol.LogReply, error) { return l.w.p.link.Log(ctx, l.w.now, l.h.id, m) })
}

// Commit is agent.Link.
func (l *wire) Commit(ctx context.Context, m protocol.BenchCommit) (protocol.BenchOpen, error) {
	return send(l, "commit", func() (protocol.BenchOpen, error) { return l.w.p.link.Commit(ctx, l.w.now, l.h.id, m) })
}

// Result is agent.Link.
func (l *wire) Result(ctx context.Context, m protocol.BenchResult) (protocol.BenchReply, error) {
	return send(l, "result", func() (protocol.BenchReply, error) { return l.w.p.link.Result(ctx, l.w.now, l.h.id, m) })
}

// Heartbeat is agent.Link. A beat may be late, or an older one may come once more.
func (l *wire) Heartbeat(ctx context.Context, m protocol.Heartbeat) (protocol.HeartbeatReply, error) {
	if !l.isCut() && l.w.chance(pLate) {
		due := l.w.now.Add(l.w.between(time.Second, 40*time.Second))
		l.held = append(l.held, late{sent: l.w.now, due: due, beat: m})
		l.w.note("  %s: heartbeat late", l.h.name)
		return protocol.HeartbeatReply{}, errLost
	}
	old := l.last
	reply, err := send(l, "heartbeat", func() (protocol.HeartbeatReply, error) { return l.beat(ctx, l.w.now, m) })
	l.last = &late{sent: l.w.now, beat: m}
	if old != nil && !l.isCut() && l.w.chance(pReplay) {
		l.w.note("  %s: heartbeat replayed", l.h.name)
		_, _ = arrive(l, "replayed heartbeat", func() (protocol.HeartbeatReply, error) { return l.beat(ctx, old.sent, old.beat) })
	}
	return reply, err
}

// beat delivers a heartbeat, and the oracle hears of it.
func (l *wire) beat(ctx context.Context, sent time.Time, m protocol.Heartbeat) (protocol.HeartbeatReply, error) {
	m.Workloads = slices.Clone(m.Workloads)
	for i := range m.Workloads {
		if l.lie && m.Workloads[i].Phase.Final() {
			m.Workloads[i].Phase = protocol.PhaseRunning
		}
	}
	reply, err := l.w.p.link.Heartbeat(ctx, l.w.now, l.h.id, m)
	l.w.oracle.look(l.w.now, l.h)
	l.w.oracle.heard(l.w.now, sent, l.h.index, m, err == nil)
	return reply, err
}

// flush delivers the late heartbeats that are due.
func (l *wire) flush(ctx context.Context) {
	held := l.held
	l.held = nil
	for _, b := range held {
		if l.w.now.Before(b.due) || l.isCut() {
			l.held = append(l.held, b)
			continue
		}
		l.w.note("  %s: heartbeat arrives late", l.h.name)
		_, _ = arrive(l, "late heartbeat", func() (protocol.HeartbeatReply, error) { return l.beat(ctx, b.sent, b.beat) })
	}
}

// heal makes the wire good from now on; what was under way is gone.
func (l *wire) heal() {
	l.cut, l.held = time.Time{}, nil
}
