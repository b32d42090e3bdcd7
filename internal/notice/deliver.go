package notice

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/mail"
)

// Numbers of the delivery.
const (
	firstPause = time.Minute
	maxPause   = 6 * time.Hour
	maxPass    = 200 // mails of one pass
	maxRow     = 3   // failures in a row after which the server is taken to be down until the next pass
)

// Deliver mails what is due: one pass. A mail that fails is tried again later, with growing pauses, for ever. Passes at
// the same time, of this process or another, share the work: each mail is held by one of them.
func (s *Service) Deliver(ctx context.Context, now time.Time) (sent int, err error) {
	if s.sender == nil {
		return 0, nil
	}
	row := 0
	for range maxPass {
		tried, ok, err := s.deliverOne(ctx, now)
		switch {
		case err != nil || !tried:
			return sent, err
		case ok:
			sent, row = sent+1, 0
		default:
			if row++; row == maxRow {
				return sent, nil
			}
		}
	}
	return sent, nil
}

// deliverOne claims a due mail, sends it and writes down what came of it.
//
// The claim is a row lock, held while the server is spoken to: when this process dies, the database lets go of it and
// another one takes the mail. Between the server's yes and the commit lies the one moment in which a crash sends a mail
// twice, with the same Message-ID both times.
func (s *Service) deliverOne(ctx context.Context, now time.Time) (tried, sent bool, err error) {
	c, tried, err := claimDue(ctx, s.db, now)
	if err != nil || !tried {
		return false, false, err
	}
	// What has been sent is written down even if the pass is being ended.
	after := context.WithoutCancel(ctx)
	defer c.release(after)
	m := c.mail
	failure := s.sender.Send(ctx, mail.Message{ID: m.ID, To: m.To, Subject: m.Subject, Body: m.Body})
	if failure == nil {
		return true, true, c.markSent(after, now, withoutSecrets(m.Body))
	}
	if ctx.Err() != nil {
		return true, false, ctx.Err() // the pass ended, not the server: it doesn't count
	}
	return true, false, c.markFailed(after, now.Add(pause(m.Attempts)), storable(failure.Error()))
}

// pause is how long a mail waits that has failed before that often: 1 min, 2, 4 … 6 h.
func pause(before int) time.Duration {
	p := firstPause
	for range before {
		if p *= 2; p >= maxPause {
			return maxPause
		}
	}
	return p
}

// storable cuts what a mail server said to what the database takes.
func storable(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "")
	if r := []rune(s); len(r) > 500 {
		s = string(r[:500]) + "…"
	}
	return s
}

// secrets are enrolment tokens. The database keeps them only hashed, so a mail that has been sent forgets them too.
var secrets = regexp.MustCompile(`gpx_[A-Za-z0-9_-]{4,}`)

func withoutSecrets(body string) string { return secrets.ReplaceAllString(body, "gpx_…") }
