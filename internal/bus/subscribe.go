package bus

import (
	"fmt"

	"github.com/nats-io/nats.go"
)

// Message is one message from a host.
type Message struct {
	Subject string
	Data    []byte
	m       *nats.Msg
}

// Reply answers a request. A message that isn't one is let be.
func (m Message) Reply(data []byte) error {
	if m.m == nil || m.m.Reply == "" {
		return nil
	}
	return m.m.Respond(data)
}

// Subscribe calls handle for each message on the subject, one after another; of all subscriptions with the same queue
// only one gets each message. Stop hands over what has arrived and returns when handle has returned for the last time.
func (b *Bus) Subscribe(subject, queue string, handle func(Message)) (stop func(), err error) {
	s, err := b.conn.QueueSubscribe(subject, queue, func(m *nats.Msg) {
		handle(Message{Subject: m.Subject, Data: m.Data, m: m})
	})
	if err != nil {
		return nil, fmt.Errorf("bus: subscribe %s: %w", subject, err)
	}
	done := make(chan struct{})
	s.SetClosedHandler(func(string) { close(done) })
	// The server must know of it before the caller tells hosts to speak.
	if err := b.conn.Flush(); err != nil {
		return nil, fmt.Errorf("bus: subscribe %s: %w", subject, err)
	}
	return func() {
		if s.Drain() == nil {
			<-done
		}
	}, nil
}

// Hint tells a host that its desired state has changed. It may be lost: the host asks again with each heartbeat.
func (b *Bus) Hint(host string) {
	if !plainToken(host) {
		return
	}
	if err := b.conn.Publish("c."+host+".desired", nil); err != nil {
		b.log.Warn("a hint was not sent; the host will ask by itself", "host", host, "error", err)
	}
}
