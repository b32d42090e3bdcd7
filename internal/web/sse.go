package web

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/a-h/templ"
)

// stream writes server-sent events of HTML fragments.
type stream struct {
	q  *req
	rc *http.ResponseController
}

// openStream starts a response that lasts: the server's write timeout is for pages.
func openStream(q *req) (*stream, error) {
	st := &stream{q: q, rc: http.NewResponseController(q.w)}
	if err := st.rc.SetWriteDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	h := q.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	if _, err := fmt.Fprint(q.w, "retry: 3000\n\n"); err != nil {
		return nil, err
	}
	return st, st.rc.Flush()
}

// send writes one event; id may be empty. The fragment must not contain a line break that matters.
func (st *stream) send(id string, c templ.Component) error {
	var b bytes.Buffer
	if err := c.Render(st.q.Context(), &b); err != nil {
		return err
	}
	var out bytes.Buffer
	if id != "" {
		fmt.Fprintf(&out, "id: %s\n", id)
	}
	for line := range bytes.Lines(b.Bytes()) {
		out.WriteString("data: ")
		out.Write(bytes.TrimRight(line, "\r\n"))
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
	if _, err := st.q.w.Write(out.Bytes()); err != nil {
		return err
	}
	return st.rc.Flush()
}

// beat keeps proxies from closing a silent stream.
func (st *stream) beat() error {
	if _, err := fmt.Fprint(st.q.w, ": beat\n\n"); err != nil {
		return err
	}
	return st.rc.Flush()
}

// every calls f at once and then with each tick until the reader leaves or f fails.
func (st *stream) every(d time.Duration, f func(n int) error) error {
	t := time.NewTicker(d)
	defer t.Stop()
	for n := 0; ; n++ {
		if err := f(n); err != nil {
			return nil // the reader has gone, or the next connection will say what is wrong
		}
		select {
		case <-st.q.Context().Done():
			return nil
		case <-t.C:
		}
	}
}
