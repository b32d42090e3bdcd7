// Package mailtest is a mail server that keeps what it is sent: for tests, and for demonstrations that read their own
// mail. It speaks SMTP without encryption or sign-in, so it belongs on a loopback address.
package mailtest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"

	"github.com/emersion/go-smtp"
)

// maxMessage is the largest message that it takes.
const maxMessage = 1 << 20

// Message is one mail as it came.
type Message struct {
	ID      string // Message-ID with its angle brackets
	From    string // address that the server was told
	To      string
	Subject string // decoded
	Body    string // decoded, lines end in \n
	Header  netmail.Header
}

// Sink is a running server.
type Sink struct {
	server   *smtp.Server
	listener net.Listener
	ended    chan error

	mu       sync.Mutex
	messages []Message
	changed  chan struct{} // closed and replaced when a message comes
	answer   func(Message) error
}

// Listen starts a server at addr, as in 127.0.0.1:0 for any free port.
func Listen(addr string) (*Sink, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("mailtest: %w", err)
	}
	s := &Sink{listener: l, ended: make(chan error, 1), changed: make(chan struct{})}
	s.server = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{sink: s}, nil }))
	s.server.Domain, s.server.MaxMessageBytes, s.server.ErrorLog = "mailtest", maxMessage, log.New(io.Discard, "", 0)
	go func() { s.ended <- s.server.Serve(l) }()
	return s, nil
}

// Addr is where it listens.
func (s *Sink) Addr() string { return s.listener.Addr().String() }

// Close ends it. What it was sent stays readable.
func (s *Sink) Close() error { return errors.Join(s.server.Close(), <-s.ended) }

// Answer decides what the server says to each message from now on: nil takes it, an error refuses it. It sees the
// message first, so it can do what a test wants to happen at that moment. A nil f takes all.
func (s *Sink) Answer(f func(Message) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// Messages gives all that came, oldest first.
func (s *Sink) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Wait gives the first message that is wanted, of those that came and those that will, until ctx ends.
func (s *Sink) Wait(ctx context.Context, wanted func(Message) bool) (Message, error) {
	seen := 0
	for {
		s.mu.Lock()
		fresh, changed := slices.Clone(s.messages[seen:]), s.changed
		s.mu.Unlock()
		for _, m := range fresh {
			if wanted(m) {
				return m, nil
			}
		}
		seen += len(fresh)
		select {
		case <-ctx.Done():
			return Message{}, fmt.Errorf("mailtest: none of the %d messages was the wanted one: %w", seen, ctx.Err())
		case <-changed:
		}
	}
}

// take keeps a message unless it is to be refused.
func (s *Sink) take(m Message) error {
	s.mu.Lock()
	answer := s.answer
	s.mu.Unlock()
	if answer != nil {
		if err := answer(m); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, m)
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

type session struct {
	sink     *Sink
	from, to string
}

func (s *session) Reset()        { s.from, s.to = "", "" }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return nil
}

func (s *session) Data(r io.Reader) error {
	m, err := parse(r)
	if err != nil {
		return err
	}
	m.From, m.To = s.from, s.to
	return s.sink.take(m)
}

func parse(r io.Reader) (Message, error) {
	raw, err := netmail.ReadMessage(r)
	if err != nil {
		return Message{}, err
	}
	m := Message{ID: raw.Header.Get("Message-ID"), Header: raw.Header}
	if m.Subject, err = new(mime.WordDecoder).DecodeHeader(raw.Header.Get("Subject")); err != nil {
		return Message{}, err
	}
	body := raw.Body
	switch strings.ToLower(raw.Header.Get("Content-Transfer-Encoding")) {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	text, err := io.ReadAll(body)
	m.Body = strings.ReplaceAll(string(text), "\r\n", "\n")
	return m, err
}
