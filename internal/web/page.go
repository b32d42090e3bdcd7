package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/i18n"
	"github.com/gpunex/gpunex/internal/provider"
	"github.com/gpunex/gpunex/internal/web/ui"
)

// req is one request on its way through a handler.
type req struct {
	*http.Request
	w    http.ResponseWriter
	v    *ui.View
	who  account.Identity // empty when nobody is signed in
	now  time.Time
	code int // status of the page; 200 until something refuses

	provider provider.Provider // of the account, when it is one
}

// handler answers a request or says what went wrong.
type handler func(*req) error

// access says who may open a page.
type access int

const (
	public   access = iota
	signed          // any signed-in person
	operator        // staff
)

// handle resolves language and person, checks access, and turns an error into a page.
func (s *server) handle(l *i18n.Locale, a access, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		q := &req{Request: r, w: w, now: s.Now(), code: http.StatusOK}
		q.v = s.view(l, r, q.now)
		err := s.identify(q)
		if err == nil {
			err = allowed(q, a)
		}
		if err == nil {
			err = h(q)
		}
		if err != nil {
			s.fail(q, err)
		}
	}
}

func allowed(q *req, a access) error {
	switch {
	case a == public:
		return nil
	case q.v.User == nil:
		return fault.New(fault.Unsigned, "sign_in_first", "Sign in first.")
	case a == operator && !q.v.User.Operator:
		return fault.New(fault.Forbidden, "operators_only", "Only operators can open this page.")
	}
	return nil
}

func (s *server) view(l *i18n.Locale, r *http.Request, now time.Time) *ui.View {
	v := &ui.View{L: l, M: &l.M, All: s.catalog.All, Path: r.URL.Path, Asset: s.assets.url, Now: now}
	if r.URL.RawQuery != "" && r.Method == http.MethodGet {
		v.Query = "?" + r.URL.RawQuery
	}
	if c, err := r.Cookie("theme"); err == nil && (c.Value == "dark" || c.Value == "light") {
		v.Theme = c.Value
	}
	return v
}

// page renders into a buffer, so that an error never leaves half a page.
func (q *req) page(title string, c templ.Component) error {
	q.v.Title = title
	return q.fragment(c)
}

// fragment renders a part of a page.
func (q *req) fragment(c templ.Component) error {
	buf := templ.GetBuffer()
	defer templ.ReleaseBuffer(buf)
	if err := c.Render(q.Context(), buf); err != nil {
		return err
	}
	h := q.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Add("Vary", "HX-Request")
	q.w.WriteHeader(q.code)
	_, _ = q.w.Write(buf.Bytes()) // the reader may have gone
	return nil
}

// partial says whether htmx asked for a part of the page.
func (q *req) partial() bool {
	return q.Header.Get("HX-Request") == "true" && q.Header.Get("HX-History-Restore-Request") != "true"
}

// streaming says whether the request opens a stream of events, which must not take the next page's sentence.
func (q *req) streaming() bool { return strings.Contains(q.Header.Get("Accept"), "text/event-stream") }

// redirect goes to a page in the same language; after a form, so that reloading doesn't send it again.
func (q *req) redirect(path string) error {
	to := q.v.URL(path)
	if q.partial() {
		q.w.Header().Set("HX-Redirect", to)
		q.w.WriteHeader(http.StatusOK)
		return nil
	}
	http.Redirect(q.w, q.Request, to, http.StatusSeeOther)
	return nil
}

// refused says whether err is a fault that belongs beside the form that caused it. The view then carries it, and the
// form is to be rendered again with what was typed.
func (q *req) refused(err error) bool {
	f, ok := fault.As(err)
	if !ok {
		return false
	}
	switch f.Kind {
	case fault.Invalid, fault.Conflict, fault.Funds, fault.Unavailable:
		q.v.Fault, q.code = f, status(f.Kind)
		return true
	default:
		return false
	}
}

// text is a form value without surrounding space.
func (q *req) text(name string) string { return strings.TrimSpace(q.PostFormValue(name)) }

// maxBody is more than any form needs.
const maxBody = 1 << 20

func unreadable() error {
	return fault.New(fault.Invalid, "form_unreadable", "The form can't be read.")
}
