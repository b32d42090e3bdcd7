package agentlink

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/protocol"
)

// handler decodes one kind of message, answers it and encodes the answer.
type handler func(ctx context.Context, now time.Time, host string, data []byte) ([]byte, error)

// handlers names every message by the end of its subject.
func (l *Link) handlers() map[string]handler {
	return map[string]handler{
		"hello":        handle(256<<10, l.Hello, func(r *protocol.Refusal) any { return protocol.HelloReply{Refusal: r} }),
		"hb":           handle(1<<20, l.Heartbeat, nil),
		"desired":      handle(4<<10, l.Desired, nil),
		"log":          handle(2<<20, l.Log, nil),
		"bench.commit": handle(4<<20, l.Commit, func(r *protocol.Refusal) any { return protocol.BenchOpen{Refusal: r} }),
		"bench.result": handle(8<<20, l.Result, func(r *protocol.Refusal) any { return protocol.BenchReply{Refusal: r} }),
	}
}

// Handle answers one message of a host; kind is its subject after a.<host>. The error is a *protocol.Refusal, or a
// fault, where the message is at fault and its reply has no place to say so: then the host gets no answer.
func (l *Link) Handle(ctx context.Context, now time.Time, host, kind string, data []byte) ([]byte, error) {
	h, ok := l.handlers()[kind]
	if !ok {
		return nil, &protocol.Refusal{Code: "subject_unknown", Text: "The platform listens to no such message"}
	}
	return h(ctx, now, host, data)
}

// handle makes a handler. Refuse puts a refusal into the reply; it is nil where the reply has no place for one.
func handle[In, Out any](limit int, answer func(context.Context, time.Time, string, In) (Out, error), refuse func(*protocol.Refusal) any) handler {
	return func(ctx context.Context, now time.Time, host string, data []byte) ([]byte, error) {
		refused := func(r *protocol.Refusal, err error) ([]byte, error) {
			if refuse == nil {
				return nil, err
			}
			return json.Marshal(refuse(r))
		}
		if len(data) > limit {
			r := &protocol.Refusal{Code: "too_large", Text: fmt.Sprintf("The message has %d bytes; the platform reads up to %d", len(data), limit)}
			return refused(r, r)
		}
		var in In
		if err := json.Unmarshal(data, &in); err != nil {
			r := &protocol.Refusal{Code: "malformed", Text: "The platform can't read the message: " + text(err.Error(), maxMessage)}
			return refused(r, r)
		}
		out, err := answer(ctx, now, host, in)
		if f, ok := fault.As(err); ok {
			return refused(&protocol.Refusal{Code: f.Code, Text: f.Error()}, err)
		}
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}
}
