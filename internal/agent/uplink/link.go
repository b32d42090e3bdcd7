package uplink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/gpunex/gpunex/internal/protocol"
)

const (
	answerWithin = 10 * time.Second
	tries        = 3
	renewRetry   = time.Minute
	renewMin     = time.Second
	reconnectMin = 500 * time.Millisecond
	reconnectMax = 15 * time.Second
)

// Link speaks with the platform over NATS. It is the agent's Link.
type Link struct {
	host      string
	conn      *nats.Conn
	enrolment Enrolment
	log       *slog.Logger
	expires   atomic.Int64 // of the credential in use, Unix seconds
	denied    chan struct{}
}

// Events are what a link tells by itself.
type Events struct {
	Hint        func() // the platform has something new
	Reconnected func()
}

// Connect enrols the host if need be and connects it. It comes back before the connection stands where the platform's
// bus is away: the link connects as soon as it can.
func Connect(ctx context.Context, e Enrolment, ev Events, log *slog.Logger) (*Link, error) {
	// Asking afresh at each start costs little, and tells a host that was revoked or whose clock is off so in a sentence.
	c, err := e.Credential(ctx, true)
	if err != nil {
		return nil, err
	}
	l := &Link{host: c.Host, enrolment: e, log: log, denied: make(chan struct{}, 1)}
	l.expires.Store(c.Expires.Unix())
	pair, err := state{e.Dir}.key()
	if err != nil {
		return nil, err
	}
	l.conn, err = nats.Connect(c.BusURL,
		nats.Name("gpunex-agent "+c.Host),
		// Read at each connection: the credential may have been renewed.
		nats.UserJWT(func() (string, error) {
			k, ok, err := state{e.Dir}.credential()
			if err == nil && !ok {
				err = errors.New("the credential file is gone")
			}
			return k.JWT, err
		}, pair.Sign),
		nats.CustomInboxPrefix("_INBOX."+c.Host),
		nats.MaxReconnects(-1),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(), // an expired credential is renewed, and then it connects
		nats.CustomReconnectDelay(backoff),
		nats.PingInterval(20*time.Second), nats.MaxPingsOutstanding(2),
		nats.ReconnectBufSize(-1), // a request that can't be sent now is not worth sending later
		nats.ConnectHandler(func(*nats.Conn) { log.Info("bus_connected"); ev.Reconnected() }),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("bus_connected_again"); ev.Reconnected() }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { log.Warn("bus_disconnected", "error", err); l.notice(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { log.Debug("bus_still_away", "error", err); l.notice(err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("bus_error", "error", err)
			l.notice(err)
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to the bus %s: %w", c.BusURL, err)
	}
	if _, err := l.conn.Subscribe("c."+c.Host+".>", func(*nats.Msg) { ev.Hint() }); err != nil {
		l.conn.Close()
		return nil, fmt.Errorf("listen for hints: %w", err)
	}
	return l, nil
}

// notice rouses Run when the bus lets this host in no longer: the platform can say why.
func (l *Link) notice(err error) {
	for _, denial := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired} {
		if errors.Is(err, denial) {
			select {
			case l.denied <- struct{}{}:
			default:
			}
			return
		}
	}
}

// backoff grows with the attempts and is never the same on two hosts: a platform that comes back isn't stormed.
func backoff(attempts int) time.Duration {
	d := min(reconnectMin<<min(attempts, 10), reconnectMax)
	return d/2 + rand.N(d/2)
}

// Host is the host's identifier.
func (l *Link) Host() string { return l.host }

// Close ends the connection.
func (l *Link) Close() { l.conn.Close() }

// Run renews the credential before it expires, and when the bus denies it, until ctx ends.
func (l *Link) Run(ctx context.Context) error {
	for {
		wait := renewRetry
		k, ok, err := state{l.enrolment.Dir}.credential()
		if err == nil && ok {
			wait = max(min(renewAt(k).Sub(l.enrolment.Now()), time.Hour), renewMin)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
			if ok && l.enrolment.Now().Before(renewAt(k)) {
				continue
			}
		case <-l.denied:
		}
		if l.renew(ctx) {
			continue
		}
		select { // not again at once
		case <-ctx.Done():
			return nil
		case <-time.After(renewRetry/2 + rand.N(renewRetry/2)):
		}
	}
}

// renew gets a fresh credential and connects with it. Workloads run on whatever the platform answers.
func (l *Link) renew(ctx context.Context) bool {
	c, err := l.enrolment.Credential(ctx, true)
	var refusal *protocol.Refusal
	switch {
	case errors.As(err, &refusal):
		l.log.Error("platform_refuses_host", "code", refusal.Code, "text", refusal.Text)
		return false
	case err != nil || c.Expires.Unix() == l.expires.Load():
		l.log.Warn("credential_not_renewed", "error", err)
		return false
	}
	l.expires.Store(c.Expires.Unix())
	l.log.Info("credential_renewed", "expires", c.Expires)
	if err := l.conn.ForceReconnect(); err != nil {
		l.log.Warn("bus_error", "error", err)
	}
	return true
}

// Hello introduces the host.
func (l *Link) Hello(ctx context.Context, m protocol.Hello) (protocol.HelloReply, error) {
	return ask[protocol.HelloReply](ctx, l, protocol.HelloSubject(l.host), m, tries)
}

// Heartbeat says how things are. It isn't repeated: the next one says it better.
func (l *Link) Heartbeat(ctx context.Context, m protocol.Heartbeat) (protocol.HeartbeatReply, error) {
	return ask[protocol.HeartbeatReply](ctx, l, protocol.HeartbeatSubject(l.host), m, 1)
}

// Desired asks what should be.
func (l *Link) Desired(ctx context.Context, m protocol.DesiredRequest) (protocol.Desired, error) {
	return ask[protocol.Desired](ctx, l, protocol.DesiredSubject(l.host), m, 1)
}

// Log brings output.
func (l *Link) Log(ctx context.Context, m protocol.LogChunk) (protocol.LogReply, error) {
	return ask[protocol.LogReply](ctx, l, protocol.LogSubject(l.host), m, 1)
}

// Commit binds the host to its products.
func (l *Link) Commit(ctx context.Context, m protocol.BenchCommit) (protocol.BenchOpen, error) {
	return ask[protocol.BenchOpen](ctx, l, protocol.CommitSubject(l.host), m, tries)
}

// Result ends a benchmark.
func (l *Link) Result(ctx context.Context, m protocol.BenchResult) (protocol.BenchReply, error) {
	return ask[protocol.BenchReply](ctx, l, protocol.ResultSubject(l.host), m, tries)
}

// ask sends one request, up to n times: everything on this link may be repeated.
func ask[T any](ctx context.Context, l *Link, subject string, in any, n int) (T, error) {
	var none T
	body, err := json.Marshal(in)
	if err != nil {
		return none, fmt.Errorf("%s: %w", subject, err)
	}
	for try := 1; ; try++ {
		var out T
		err = l.once(ctx, subject, body, &out)
		if err == nil {
			return out, nil
		}
		if try >= n || ctx.Err() != nil || !l.conn.IsConnected() {
			return none, err
		}
		select {
		case <-ctx.Done():
			return none, ctx.Err()
		case <-time.After(backoff(try)):
		}
	}
}

func (l *Link) once(ctx context.Context, subject string, body []byte, out any) error {
	if !l.conn.IsConnected() {
		return fmt.Errorf("%s: not connected to the platform", subject)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	msg, err := l.conn.RequestWithContext(ctx, subject, body)
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	if err := decode(msg.Data, out); err != nil {
		return fmt.Errorf("%s: the platform's answer: %w", subject, err)
	}
	return nil
}

// decode reads an answer. A desired state must say its revision: an answer that is something else would read as a
// platform that wants nothing, and end rentals.
func decode(data []byte, out any) error {
	if _, ok := out.(*protocol.Desired); ok {
		var must struct {
			Revision *int64 `json:"revision"`
		}
		if err := json.Unmarshal(data, &must); err != nil {
			return err
		}
		if must.Revision == nil {
			return errors.New("it isn't a desired state: it has no revision")
		}
	}
	return json.Unmarshal(data, out)
}
