package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// timeout is how long one message may take.
const timeout = 15 * time.Second

// SMTP sends through one mail server, with a connection for each message.
type SMTP struct {
	host    string
	options []gomail.Option
	from    *netmail.Address
	domain  string // of from: the right side of each Message-ID
}

// NewSMTP reads where to send to: smtp://user:password@host:port?tls=starttls&from=GPUnex <gpunex@example.com>.
//
// tls is starttls (the default, on port 587), tls (from the first byte on, on port 465) or none (port 25). A server that
// doesn't offer what was asked for is not used. from defaults to no-reply@host.
func NewSMTP(raw string) (*SMTP, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "smtp" || u.Hostname() == "" { // the parser's error would show the password
		return nil, errors.New("mail: the address of the mail server can't be read: write it as in smtp://user:password@host:587?from=gpunex@example.com (special characters of a password as in %40 for @)")
	}
	s := &SMTP{host: u.Hostname()}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("mail: "+format, args...)) }
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Path != "" && u.Path != "/" {
		bad("the end of the mail server's address can't be read: after the port come only ?tls= and from=")
	}
	for k := range q {
		if k != "tls" && k != "from" {
			bad("the mail server's address has no setting %q: there are tls and from", k)
		}
	}

	port := 587
	switch q.Get("tls") {
	case "", "starttls":
		s.options = append(s.options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case "tls":
		port = 465
		s.options = append(s.options, gomail.WithSSL())
	case "none":
		port = 25
		s.options = append(s.options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		bad("tls=%s: it is starttls, tls or none", q.Get("tls"))
	}
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			bad("port %s: it is a number from 1 to 65535", p)
		}
	}

	from := q.Get("from")
	if from == "" {
		from = "no-reply@" + s.host
	}
	if s.from, err = netmail.ParseAddress(from); err != nil {
		bad("from=%s: it is no email address", from)
		return nil, errors.Join(errs...)
	}
	s.domain = s.from.Address[strings.LastIndexByte(s.from.Address, '@')+1:]

	s.options = append(s.options, gomail.WithPort(port), gomail.WithTimeout(timeout), gomail.WithHELO(s.domain),
		gomail.WithTLSConfig(&tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12}))
	if user := u.User.Username(); user != "" {
		password, _ := u.User.Password()
		s.options = append(s.options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(user), gomail.WithPassword(password))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	_, err = gomail.NewClient(s.host, s.options...)
	return s, err
}

// Send sends one message and returns when the server has taken it.
func (s *SMTP) Send(ctx context.Context, m Message) error {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(s.from)
	if err := msg.To(m.To); err != nil {
		return fmt.Errorf("mail: to %q: %w", m.To, err)
	}
	msg.Subject(m.Subject)
	msg.SetMessageIDWithValue(m.ID + "@" + s.domain)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // nobody's holiday answers to it
	msg.SetBodyString(gomail.TypeTextPlain, m.Body)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// A client keeps the state of its connection, so each message has one of its own.
	c, err := gomail.NewClient(s.host, s.options...)
	if err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	if err := c.DialAndSendWithContext(ctx, msg); err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	return nil
}
