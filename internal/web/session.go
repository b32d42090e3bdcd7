package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/web/ui"
)

// The session's keys.
const (
	keyPerson = "person"
	keyDone   = "done"
)

func newSessions(store scs.Store, https bool) *scs.SessionManager {
	m := scs.New()
	m.Lifetime, m.IdleTimeout = 30*24*time.Hour, 7*24*time.Hour
	m.HashTokenInStore = true
	m.Cookie.Name, m.Cookie.SameSite, m.Cookie.HttpOnly = "session", http.SameSiteLaxMode, true
	if https {
		m.Cookie.Name, m.Cookie.Secure = "__Host-session", true
	}
	if store != nil {
		m.Store = store
	}
	return m
}

// identify finds out who asks, and says once what their last request did.
func (s *server) identify(q *req) error {
	ctx := q.Context()
	id := s.sessions.GetString(ctx, keyPerson)
	if id == "" {
		return nil
	}
	who, err := s.Accounts.Identify(ctx, id)
	if f, ok := fault.As(err); ok && f.Kind != fault.Unavailable {
		s.sessions.Remove(ctx, keyPerson) // the person is gone
		return nil
	}
	if err != nil {
		return err
	}
	prov, is, err := s.Providers.Of(ctx, who.Account.ID)
	if err != nil {
		return err
	}
	q.who, q.provider = who, prov
	q.v.User = &ui.User{Name: who.Person.Name, Email: who.Person.Email, Provider: is, Operator: who.Account.Operator}
	if q.Method == http.MethodGet && !q.partial() && !q.streaming() {
		q.v.Done = s.sessions.PopString(ctx, keyDone)
	}
	return nil
}

// done keeps a sentence for the next page.
func (s *server) done(q *req, text string) { s.sessions.Put(q.Context(), keyDone, text) }

func (s *server) signInPage(q *req) error {
	if q.v.User != nil {
		return q.redirect("/marketplace")
	}
	return q.page(q.v.M.Auth.SignIn, ui.SignIn(q.v, ui.Credentials{Next: q.FormValue("next")}))
}

func (s *server) signIn(q *req) error {
	who, err := s.Accounts.SignIn(q.Context(), q.now, q.text("email"), q.PostFormValue("password"))
	if f, ok := fault.As(err); ok {
		q.v.Fault, q.code = f, http.StatusUnprocessableEntity
		return q.page(q.v.M.Auth.SignIn, ui.SignIn(q.v, ui.Credentials{Email: q.text("email"), Next: q.text("next")}))
	}
	if err != nil {
		return err
	}
	return s.begin(q, who)
}

func (s *server) signUpPage(q *req) error {
	if q.v.User != nil {
		return q.redirect("/marketplace")
	}
	return q.page(q.v.M.Auth.SignUp, ui.SignUp(q.v, ui.Credentials{Next: q.FormValue("next")}))
}

func (s *server) signUp(q *req) error {
	who, err := s.Accounts.SignUp(q.Context(), q.now, account.SignUp{
		Email: q.text("email"), Name: q.text("name"), Password: q.PostFormValue("password"), Locale: q.v.L.Tag,
	})
	if q.refused(err) {
		return q.page(q.v.M.Auth.SignUp, ui.SignUp(q.v, ui.Credentials{Name: q.text("name"), Email: q.text("email"), Next: q.text("next")}))
	}
	if err != nil {
		return err
	}
	return s.begin(q, who)
}

// begin starts a session under a new token, so that one set before sign-in is worth nothing.
func (s *server) begin(q *req, who account.Identity) error {
	ctx := q.Context()
	if err := s.sessions.RenewToken(ctx); err != nil {
		return err
	}
	s.sessions.Put(ctx, keyPerson, who.Person.ID)
	if who.Person.Locale != q.v.L.Tag {
		if err := s.Accounts.SetLocale(ctx, who.Person.ID, q.v.L.Tag); err != nil {
			return err
		}
	}
	next := q.text("next")
	if !strings.HasPrefix(next, "/") || strings.ContainsAny(next, "\\\r\n") {
		next = "/marketplace"
	}
	return q.redirect(next) // under the language's prefix, so it can't lead elsewhere
}

func (s *server) signOut(q *req) error {
	if err := s.sessions.Destroy(q.Context()); err != nil {
		return err
	}
	return q.redirect("/marketplace")
}
