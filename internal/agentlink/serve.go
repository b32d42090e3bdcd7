package agentlink

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/gpunex/gpunex/internal/bus"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/protocol"
)

const (
	workers  = 16
	answerIn = 10 * time.Second // a host waits no longer
)

// Serve answers hosts until ctx ends, and then those whose messages have arrived. Of all processes that serve, one
// gets each message.
func (l *Link) Serve(ctx context.Context) error {
	if l.bus == nil {
		return errors.New("agentlink: no bus to serve on")
	}
	queue := make(chan bus.Message)
	var pool sync.WaitGroup
	for range workers {
		pool.Go(func() {
			for m := range queue {
				l.serve(context.WithoutCancel(ctx), m)
			}
		})
	}
	stop, err := l.bus.Subscribe("a.*.>", "agentlink", func(m bus.Message) { queue <- m })
	if err == nil {
		<-ctx.Done()
		stop()
	}
	close(queue)
	pool.Wait()
	return err
}

// serve answers one message.
func (l *Link) serve(ctx context.Context, m bus.Message) {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	// a.<host>.<kind>: the bus lets a host publish under its own name only.
	host, kind, _ := strings.Cut(strings.TrimPrefix(m.Subject, "a."), ".")
	reply, err := l.guarded(ctx, time.Now(), host, kind, m.Data)
	if err == nil && reply != nil {
		err = m.Reply(reply)
	}
	var refusal *protocol.Refusal
	switch f, isFault := fault.As(err); {
	case err == nil:
	case isFault:
		l.log.Warn("a host was refused", "host", host, "kind", kind, "code", f.Code)
	case errors.As(err, &refusal):
		l.log.Warn("a host was refused", "host", host, "kind", kind, "code", refusal.Code)
	default:
		l.log.Error("a host got no answer", "host", host, "kind", kind, "error", err)
	}
}

// guarded keeps one host's message from ending the process for all others.
func (l *Link) guarded(ctx context.Context, now time.Time, host, kind string, data []byte) (reply []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			reply, err = nil, fmt.Errorf("agentlink: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return l.Handle(ctx, now, host, kind, data)
}
