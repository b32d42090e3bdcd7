package web

import (
	"bufio"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/rental"
	"github.com/gpunex/gpunex/internal/web/ui"
)

// TestStream reads a stream through everything that wraps a handler: compression, sessions, the language's prefix.
func TestStream(t *testing.T) {
	gone := make(chan struct{})
	s := newServer(Config{})
	srv := httptest.NewServer(s.wrap(s.under([]route{{"GET /events", public, func(q *req) error {
		defer close(gone)
		st, err := openStream(q)
		if err != nil {
			return err
		}
		return st.every(time.Millisecond, func(n int) error {
			if n == 0 {
				return st.send("7", ui.LogEvent([]rental.LogLine{{Seq: 7, Stream: "stdout", Text: "one\ntwo <b>"}}))
			}
			return st.beat()
		})
	}}})))
	defer srv.Close()
	rs, err := http.Get(srv.URL + "/de/events")
	if err != nil {
		t.Fatal(err)
	}
	if ct := rs.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("content type %q", ct)
	}
	var seen []string
	for lines := bufio.NewScanner(rs.Body); lines.Scan(); {
		seen = append(seen, lines.Text())
		if lines.Text() == ": beat" {
			break
		}
	}
	_ = rs.Body.Close()
	all := strings.Join(seen, "\n")
	if !slices.Contains(seen, "id: 7") || !strings.Contains(all, `hx-target="#log"`) || !strings.Contains(all, "two &lt;b&gt;") {
		t.Errorf("the stream says:\n%s", all)
	}
	for _, line := range seen {
		if line != "" && !strings.HasPrefix(line, "data: ") && !strings.HasPrefix(line, "id: ") && !strings.HasPrefix(line, "retry: ") && line != ": beat" {
			t.Errorf("%q is no line of a stream", line)
		}
	}
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the stream goes on after its reader has gone")
	}
}

// TestUnknownErrorIsHidden makes sure that a person sees that it went wrong, and not how.
func TestUnknownErrorIsHidden(t *testing.T) {
	s := newServer(Config{})
	h := s.wrap(s.under([]route{{"GET /x", public, func(*req) error { return errors.New("secret detail") }}}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/fr/x", nil))
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") || !strings.Contains(w.Body.String(), "Une erreur s’est produite") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}
