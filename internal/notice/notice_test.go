package notice_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/db/dbtest"
	"github.com/gpunex/gpunex/internal/mail"
	"github.com/gpunex/gpunex/internal/mail/mailtest"
	"github.com/gpunex/gpunex/internal/notice"
)

var now = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

const base = "https://gpunex.example"

// fake is a mail server in memory.
type fake struct {
	mu   sync.Mutex
	fail error
	sent []mail.Message
	on   func(mail.Message) // sees each message as it arrives
}

func (f *fake) Send(_ context.Context, m mail.Message) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.on != nil {
		f.on(m)
	}
	if f.fail != nil {
		return f.fail
	}
	f.sent = append(f.sent, m)
	return nil
}

func hello(key string) notice.Notice {
	return notice.Notice{Key: key, Kind: "host.offline", To: "ana@example.com", Locale: "en", Data: map[string]string{"name": "Ana", "host": key, "last_seen": "2026-12-01 08:59 UTC"}}
}

func put(t *testing.T, d *db.DB, s *notice.Service, at time.Time, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if err := s.Send(t.Context(), d, at, hello(k)); err != nil {
			t.Fatal(err)
		}
	}
}

func deliver(t *testing.T, s *notice.Service, at time.Time, want int) {
	t.Helper()
	if sent, err := s.Deliver(t.Context(), at); err != nil || sent != want {
		t.Fatalf("delivered %d, %v; want %d", sent, err, want)
	}
}

func TestSendOnceAndOnlyWithItsCause(t *testing.T) {
	d := dbtest.New(t)
	server := &fake{}
	s := notice.New(d, server, base)
	lost := errors.New("the change failed")
	err := d.InTx(t.Context(), func(tx db.Tx) error {
		if err := s.Send(t.Context(), tx, now, hello("a")); err != nil {
			return err
		}
		return lost
	})
	if !errors.Is(err, lost) {
		t.Fatal(err)
	}
	deliver(t, s, now, 0)
	put(t, d, s, now, "a", "a", "b")
	deliver(t, s, now.Add(-time.Second), 0) // not due yet
	deliver(t, s, now, 2)
	deliver(t, s, now.Add(time.Hour), 0)
	put(t, d, s, now.Add(time.Hour), "a") // even after it was mailed
	deliver(t, s, now.Add(2*time.Hour), 0)
	if len(server.sent) != 2 {
		t.Errorf("%d mails", len(server.sent))
	}
	for _, n := range []notice.Notice{{Key: "x", Kind: "no.such", To: "a@b.example"}, {Kind: "host.online", To: "a@b.example"}} {
		if err := s.Send(t.Context(), d, now, n); err == nil {
			t.Errorf("%+v was taken", n)
		}
	}
}

func TestNoSenderLeavesMailsInTheOutbox(t *testing.T) {
	d := dbtest.New(t)
	s := notice.New(d, nil, base)
	put(t, d, s, now, "a")
	deliver(t, s, now, 0)
	list, err := s.Outbox(t.Context(), 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("outbox %v, %v", list, err)
	}
	m := list[0]
	if m.SentAt != nil || m.Attempts != 0 || m.To != "ana@example.com" || m.Subject != "Host offline: a" || !m.CreatedAt.Equal(now) ||
		!strings.HasPrefix(m.Body, "Hello Ana,\n\n") || !strings.HasSuffix(m.Body, "GPUnex\n"+base+"\n") {
		t.Errorf("got %+v", m)
	}
}

func TestFailedMailIsTriedAgainEverLater(t *testing.T) {
	d := dbtest.New(t)
	server := &fake{fail: errors.New("mailbox \x00full \xff" + strings.Repeat("x", 1000))}
	s := notice.New(d, server, base)
	put(t, d, s, now, "a")
	tries := 0
	server.on = func(mail.Message) { tries++ }
	at := now
	for i, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360} {
		deliver(t, s, at, 0)
		if tries != i+1 {
			t.Fatalf("%d tries by %v", tries, at.Sub(now))
		}
		deliver(t, s, at.Add(wait*time.Minute-time.Millisecond), 0) // too early
		if tries != i+1 {
			t.Fatalf("tried again before %v min", int(wait))
		}
		at = at.Add(wait * time.Minute)
	}
	list, err := s.Outbox(t.Context(), 10)
	if err != nil || list[0].Attempts != 11 || !strings.HasPrefix(list[0].LastError, "mailbox full ?xxx") || list[0].SentAt != nil {
		t.Fatalf("outbox %+v, %v", list, err)
	}
	server.fail = nil
	deliver(t, s, at, 1)
	list, err = s.Outbox(t.Context(), 10)
	if err != nil || list[0].LastError != "" || list[0].SentAt == nil || !list[0].SentAt.Equal(at) || list[0].Attempts != 12 {
		t.Errorf("outbox %+v, %v", list, err)
	}
}

func TestServerThatIsDownIsNotAskedForEachMail(t *testing.T) {
	d := dbtest.New(t)
	server := &fake{fail: errors.New("down")}
	s := notice.New(d, server, base)
	put(t, d, s, now, "a", "b", "c", "d", "e")
	tries := 0
	server.on = func(mail.Message) { tries++ }
	deliver(t, s, now, 0)
	if tries != 3 {
		t.Errorf("%d tries", tries)
	}
	server.fail = nil
	deliver(t, s, now, 2)
	deliver(t, s, now.Add(time.Minute), 3)
}

func TestTwoProcessesShareTheOutbox(t *testing.T) {
	d := dbtest.New(t)
	server := &fake{}
	var keys []string
	for i := range 40 {
		keys = append(keys, fmt.Sprint(i))
	}
	put(t, d, notice.New(d, nil, base), now, keys...)
	var wg sync.WaitGroup
	var total [4]int
	for i := range total {
		wg.Go(func() {
			n, err := notice.New(d, server, base).Deliver(t.Context(), now)
			if err != nil {
				t.Error(err)
			}
			total[i] = n
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, m := range server.sent {
		seen[m.ID] = true
	}
	if len(server.sent) != 40 || len(seen) != 40 || total[0]+total[1]+total[2]+total[3] != 40 {
		t.Errorf("%d mails, %d different, %v", len(server.sent), len(seen), total)
	}
}

// A process that dies after the server took the mail leaves it unmarked: the next one sends it under the same ID.
func TestCrashAfterSendingRepeatsUnderTheSameID(t *testing.T) {
	d := dbtest.New(t)
	server := &fake{}
	s := notice.New(d, server, base)
	put(t, d, s, now, "a")
	server.on = func(mail.Message) { // the database loses us while the server says yes
		if _, err := d.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`); err != nil {
			t.Error(err)
		}
	}
	if sent, err := s.Deliver(t.Context(), now); err == nil {
		t.Fatalf("delivered %d without its database", sent)
	}
	server.on = nil
	deliver(t, notice.New(d, server, base), now, 1)
	if len(server.sent) != 2 || server.sent[0] != server.sent[1] {
		t.Errorf("sent %+v", server.sent)
	}
}

func TestPassThatEndsCountsNoFailure(t *testing.T) {
	d := dbtest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := &fake{fail: context.Canceled, on: func(mail.Message) { cancel() }}
	s := notice.New(d, server, base)
	put(t, d, s, now, "a")
	if _, err := s.Deliver(ctx, now); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// A yes that comes as the pass is ended is still written down.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	server.fail = nil
	if sent, err := s.Deliver(ctx, now); sent != 1 {
		t.Fatalf("sent %d, %v", sent, err)
	}
	list, err := s.Outbox(t.Context(), 1)
	if err != nil || list[0].Attempts != 1 || list[0].SentAt == nil {
		t.Errorf("outbox %+v, %v", list, err)
	}
}

func TestTokenIsForgottenOnceMailed(t *testing.T) {
	d := dbtest.New(t)
	sink, err := mailtest.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	smtp, err := mail.NewSMTP("smtp://" + sink.Addr() + "?tls=none&from=gpunex@mail.example")
	if err != nil {
		t.Fatal(err)
	}
	s := notice.New(d, smtp, base)
	err = s.Send(t.Context(), d, now, notice.Notice{Key: "k", Kind: "application.approved", To: "ana@example.com", Locale: "pt-PT", Data: map[string]string{
		"name": "Ana", "tier": "enterprise", "models": "NVIDIA H100 SXM", "max_hosts": "2", "token": "gpx_SecretSecret123", "expires": "2026-12-15",
	}})
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, s, now, 1)
	m := sink.Messages()[0]
	for _, want := range []string{"Olá Ana,", "gpx_SecretSecret123", "curl -fsSL " + base + "/agent | bash\n", "docker ps | grep gpunex-agent\n", "Painel do Fornecedor", "Nível Enterprise", "2026-12-15"} {
		if !strings.Contains(m.Body, want) {
			t.Errorf("the mail lacks %q:\n%s", want, m.Body)
		}
	}
	if m.Subject != "A sua candidatura foi aprovada: Nível Enterprise" {
		t.Error(m.Subject)
	}
	list, err := s.Outbox(t.Context(), 1)
	if err != nil || strings.Contains(list[0].Body, "Secret") || !strings.Contains(list[0].Body, "gpx_…") {
		t.Errorf("the outbox keeps %+v, %v", list, err)
	}
}
