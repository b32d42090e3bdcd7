package mail_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gpunex/gpunex/internal/mail"
	"github.com/gpunex/gpunex/internal/mail/mailtest"
)

func listen(t *testing.T) *mailtest.Sink {
	t.Helper()
	s, err := mailtest.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSend(t *testing.T) {
	sink := listen(t)
	s, err := mail.NewSMTP("smtp://" + sink.Addr() + "?tls=none&from=GPUnex <gpunex@mail.example>")
	if err != nil {
		t.Fatal(err)
	}
	want := mail.Message{
		ID: "eml_1", To: "ana@example.com", Subject: "A sua candidatura foi aprovada: Nível Enterprise, até terça-feira",
		Body: "Olá Ana,\n\n.começa com um ponto\n" + strings.Repeat("Zuverlässigkeit ", 40) + "\n\n\tcurl -fsSL https://x.example/agent | bash\n",
	}
	for range 2 { // sending again is the same message to mail programs
		if err := s.Send(t.Context(), want); err != nil {
			t.Fatal(err)
		}
	}
	got := sink.Messages()
	if len(got) != 2 {
		t.Fatalf("%d messages came", len(got))
	}
	for _, m := range got {
		if m.ID != "<eml_1@mail.example>" || m.From != "gpunex@mail.example" || m.To != want.To || m.Subject != want.Subject || strings.TrimRight(m.Body, "\n") != strings.TrimRight(want.Body, "\n") {
			t.Errorf("got %+v", m)
		}
		if m.Header.Get("From") != `"GPUnex" <gpunex@mail.example>` || m.Header.Get("Auto-Submitted") != "auto-generated" || m.Header.Get("Date") == "" {
			t.Errorf("header %v", m.Header)
		}
	}
}

func TestSendCannotBeMadeToSendElse(t *testing.T) {
	sink := listen(t)
	s, err := mail.NewSMTP("smtp://" + sink.Addr() + "?tls=none&from=gpunex@mail.example")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), mail.Message{ID: "eml_1", To: "a@b.example, c@d.example", Subject: "x", Body: "x"}); err == nil {
		t.Error("two recipients were taken")
	}
	if err := s.Send(t.Context(), mail.Message{ID: "eml_2", To: "a@b.example", Subject: "x\r\nBcc: c@d.example\r\n\r\nspam", Body: "x"}); err != nil {
		t.Fatal(err)
	}
	m := sink.Messages()
	if len(m) != 1 || m[0].Header.Get("Bcc") != "" || strings.Contains(m[0].Body, "spam") {
		t.Errorf("got %+v", m)
	}
}

func TestSendSaysThatItFailed(t *testing.T) {
	sink := listen(t)
	s, err := mail.NewSMTP("smtp://" + sink.Addr() + "?tls=none")
	if err != nil {
		t.Fatal(err)
	}
	m := mail.Message{ID: "eml_1", To: "a@b.example", Subject: "x", Body: "x"}
	sink.Answer(func(mailtest.Message) error { return errors.New("mailbox full") })
	if err := s.Send(t.Context(), m); err == nil {
		t.Error("a refused message was sent")
	}
	sink.Answer(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Send(ctx, m); err == nil {
		t.Error("sent after the end")
	}
	// The server offers no encryption: nothing is sent without it.
	strict, err := mail.NewSMTP("smtp://" + sink.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if err := strict.Send(t.Context(), m); err == nil || len(sink.Messages()) != 0 {
		t.Errorf("sent without encryption: %v", err)
	}
}

func TestWait(t *testing.T) {
	sink := listen(t)
	s, err := mail.NewSMTP("smtp://" + sink.Addr() + "?tls=none")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		m, err := sink.Wait(t.Context(), func(m mailtest.Message) bool { return m.Subject == "two" })
		if err != nil {
			m.ID = err.Error()
		}
		got <- m.ID
	}()
	for _, subject := range []string{"one", "two"} {
		if err := s.Send(t.Context(), mail.Message{ID: subject, To: "a@b.example", Subject: subject, Body: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if id := <-got; id != "<two@127.0.0.1>" {
		t.Errorf("waited for %q", id)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sink.Wait(ctx, func(mailtest.Message) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNewSMTP(t *testing.T) {
	for url, want := range map[string]string{
		"smtp://mail.example": "",
		"smtp://user:p%40ss@mail.example:2525?tls=tls&from=a@b.example": "",
		"smtp://[::1]:25?tls=none&from=a@b.example":                     "",
		"":                                     "can't be read",
		"mail.example:25":                      "can't be read",
		"http://mail.example":                  "can't be read",
		"smtp://u:secret%zz@mail.example":      "can't be read",
		"smtp://mail.example:99999":            "port",
		"smtp://mail.example?tls=maybe":        "tls=maybe",
		"smtp://mail.example?from=nobody":      "from=nobody",
		"smtp://mail.example?form=a@b.example": `"form"`,
		"smtp://mail.example/x":                "come only",
	} {
		_, err := mail.NewSMTP(url)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells the password: %v", url, err)
		}
	}
}
