package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/web/ui"
)

func status(k fault.Kind) int {
	switch k {
	case fault.Invalid:
		return http.StatusUnprocessableEntity
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.Unsigned:
		return http.StatusUnauthorized
	case fault.Funds:
		return http.StatusPaymentRequired
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// fail decides what the world sees of an error.
func (s *server) fail(q *req, err error) {
	if errors.Is(err, context.Canceled) && q.Context().Err() != nil {
		return // the reader has gone
	}
	m := &q.v.M.Errors
	f, ok := fault.As(err)
	if ok && f.Kind == fault.Unsigned {
		s.signInFirst(q)
		return
	}
	q.code = http.StatusInternalServerError
	title, text := m.InternalTitle, m.Internal
	if ok {
		q.code = status(f.Kind)
		text = q.v.L.Fault(f)
		switch f.Kind {
		case fault.NotFound:
			title = m.NotFoundTitle
		case fault.Forbidden:
			title = m.ForbiddenTitle
		default:
			title = m.ConflictTitle
		}
	} else {
		s.Log.ErrorContext(q.Context(), "page failed", "method", q.Method, "path", q.URL.Path, "err", err)
	}
	if q.partial() {
		err = q.fragment(ui.ErrorFragment(q.v, text))
	} else {
		err = q.page(title, ui.ErrorPage(q.v, q.code, title, text))
	}
	if err != nil {
		http.Error(q.w, text, http.StatusInternalServerError)
	}
}

// signInFirst leads to the sign-in page and back to where the person wanted to go.
func (s *server) signInFirst(q *req) {
	to := "/sign-in"
	if q.Method == http.MethodGet && !q.partial() {
		to += "?next=" + url.QueryEscape(q.URL.Path+q.v.Query)
	}
	_ = q.redirect(to) // redirects don't fail
}

func notFound(q *req) error {
	return fault.New(fault.NotFound, "page_not_found", "The address may be mistyped, or what it showed is gone.")
}
