package web

import (
	"net/http"

	"github.com/gpunex/gpunex/internal/i18n"
)

// route is one page or action, below its language's prefix.
type route struct {
	pattern string
	access  access
	handler handler
}

func (s *server) table() []route {
	return []route{
		{"GET /{$}", public, s.marketplace},
		{"GET /marketplace", public, s.marketplace},
		{"GET /rent/{host}/{model}", public, s.rentPage},
		{"POST /rent/{host}/{model}", signed, s.quote},
		{"GET /quotes/{id}", signed, s.quotePage},
		{"POST /quotes/{id}", signed, s.rent},

		{"GET /sign-up", public, s.signUpPage},
		{"POST /sign-up", public, s.signUp},
		{"GET /sign-in", public, s.signInPage},
		{"POST /sign-in", public, s.signIn},
		{"POST /sign-out", public, s.signOut},

		{"GET /console/instances", signed, s.instances},
		{"GET /console/instances/{id}", signed, s.instance},
		{"GET /console/instances/{id}/events", signed, s.instanceEvents},
		{"POST /console/instances/{id}/stop", signed, s.stop},
		{"GET /console/billing", signed, s.billing},

		{"GET /roles", signed, s.roles},
		{"GET /roles/apply", signed, s.applyPage},
		{"POST /roles/apply", signed, s.apply},
		{"POST /roles/apply/draft", signed, s.saveDraft},
		{"GET /roles/application", signed, s.application},
		{"POST /roles/withdraw", signed, s.withdraw},

		{"GET /provider", signed, s.providing(s.overview)},
		{"GET /provider/overview", signed, s.providing(s.overview)},
		{"GET /provider/benchmarks", signed, s.providing(s.benchmarks)},
		{"POST /provider/benchmarks/{host}", signed, s.providing(s.requestBenchmark)},
		{"GET /provider/pricing", signed, s.providing(s.pricing)},
		{"POST /provider/pricing", signed, s.providing(s.setPrices)},
		{"GET /provider/earnings", signed, s.providing(s.earnings)},
		{"GET /provider/payouts", signed, s.providing(s.payouts)},
		{"POST /provider/payouts", signed, s.providing(s.setPayouts)},
		{"GET /provider/events", signed, s.providing(s.providerEvents)},
		{"GET /install", signed, s.providing(s.install)},
		{"POST /install/tokens", signed, s.providing(s.createToken)},
		{"POST /install/tokens/{id}/revoke", signed, s.providing(s.revokeToken)},

		{"GET /operator/applications", operator, s.queue},
		{"GET /operator/applications/{id}", operator, s.review},
		{"POST /operator/applications/{id}/approve", operator, s.approve},
		{"POST /operator/applications/{id}/ask", operator, s.ask},
		{"POST /operator/applications/{id}/reject", operator, s.reject},
		{"GET /operator/hosts", operator, s.hosts},
		{"GET /operator/payouts", operator, s.payoutRuns},
		{"POST /operator/payouts/run", operator, s.runPayouts},
		{"GET /operator/ledger", operator, s.audit},
		{"GET /operator/test-money", operator, s.testMoneyPage},
		{"POST /operator/test-money", operator, s.testMoney},
		{"GET /operator/outbox", operator, s.outbox},

		{"/", public, notFound},
	}
}

// under puts routes under one literal prefix per language: a wildcard would conflict with /static/.
func (s *server) under(routes []route) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /static/", s.assets)
	mux.HandleFunc("GET /{$}", s.choose)
	mux.Handle("/", s.sessions.LoadAndSave(s.handle(s.catalog.All[0], public, notFound)))
	for _, l := range s.catalog.All {
		pages := http.NewServeMux()
		for _, r := range routes {
			pages.HandleFunc(r.pattern, s.handle(l, r.access, r.handler))
		}
		mux.Handle("/"+l.Path+"/", http.StripPrefix("/"+l.Path, s.remember(l, s.sessions.LoadAndSave(pages))))
	}
	return mux
}

const localeCookie = "lang"

// choose leads to the language that was last read here, or else to the one that the browser prefers.
func (s *server) choose(w http.ResponseWriter, r *http.Request) {
	l := s.catalog.Match(r.Header.Get("Accept-Language"))
	if c, err := r.Cookie(localeCookie); err == nil {
		if known, ok := s.catalog.ByPath(c.Value); ok {
			l = known
		}
	}
	w.Header().Set("Vary", "Accept-Language, Cookie")
	http.Redirect(w, r, "/"+l.Path+"/", http.StatusFound)
}

// remember keeps the language of the page in a cookie.
func (s *server) remember(l *i18n.Locale, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie(localeCookie); err != nil || c.Value != l.Path {
			http.SetCookie(w, &http.Cookie{Name: localeCookie, Value: l.Path, Path: "/", MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode})
		}
		next.ServeHTTP(w, r)
	})
}
