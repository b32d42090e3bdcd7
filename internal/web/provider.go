package web

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/payout"
	"github.com/gpunex/gpunex/internal/rental"
	"github.com/gpunex/gpunex/internal/web/ui"
)

// providing wraps the pages of providers: anyone else is told how to become one.
func (s *server) providing(h handler) handler {
	return func(q *req) error {
		if !q.v.User.Provider {
			q.code = http.StatusForbidden
			return q.page(q.v.M.Nav.Provider, ui.NoProvider(q.v))
		}
		return h(q)
	}
}

func (s *server) overview(q *req) error {
	o, err := s.fleetOf(q)
	if err != nil {
		return err
	}
	if o.Earnings, err = s.Rentals.Earnings(q.Context(), q.now, q.provider.AccountID); err != nil {
		return err
	}
	return q.page(q.v.M.Nav.Provider, ui.OverviewPage(q.v, o))
}

func (s *server) fleetOf(q *req) (o ui.Overview, err error) {
	o.Provider = q.provider
	if o.Listings, err = s.Market.Listings(q.Context(), s.Now(), q.provider.AccountID); err != nil {
		return o, err
	}
	o.Hosts, err = s.Fleet.Hosts(q.Context(), q.provider.AccountID)
	return o, err
}

// providerEvents streams the live earnings and, where the page asks for it, hosts and GPUs as they change.
func (s *server) providerEvents(q *req) error {
	st, err := openStream(q)
	if err != nil {
		return err
	}
	hosts, shown := q.URL.Query().Get("fleet") != "", ui.Overview{}
	return st.every(2*tick, func(n int) error {
		e, err := s.Rentals.Earnings(q.Context(), s.Now(), q.provider.AccountID)
		if err != nil {
			return err
		}
		if err := st.send("", ui.EarningsEvent(q.v, e)); err != nil || !hosts {
			return err
		}
		o, err := s.fleetOf(q)
		if err != nil {
			return err
		}
		if n > 0 && sameFleet(o, shown) {
			return nil
		}
		shown = o
		return st.send("", ui.FleetEvent(q.v, o))
	})
}

// sameFleet compares what the page shows of a fleet, but for the moment at which a host was last seen.
func sameFleet(a, b ui.Overview) bool {
	same := func(x, y fleet.Host) bool { return x.ID == y.ID && x.Name == y.Name && x.Online == y.Online }
	return reflect.DeepEqual(a.Listings, b.Listings) && slices.EqualFunc(a.Hosts, b.Hosts, same)
}

func (s *server) benchmarks(q *req) error {
	ctx := q.Context()
	b := ui.Benchmarks{Provider: q.provider}
	hosts, err := s.Fleet.Hosts(ctx, q.provider.AccountID)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		x := ui.BenchHost{Host: h}
		if x.Runs, err = s.Benchmarks.Runs(ctx, h.ID, 5); err != nil {
			return err
		}
		gpus, err := s.Fleet.GPUs(ctx, h.ID)
		if err != nil {
			return err
		}
		var ids []string
		for _, g := range gpus {
			ids = append(ids, g.ID)
		}
		verdicts, err := s.Benchmarks.Verdicts(ctx, ids)
		if err != nil {
			return err
		}
		for _, g := range gpus {
			row := ui.BenchGPU{GPU: g, Name: modelName(g.Model)}
			if v, ok := verdicts[g.ID]; ok {
				row.Verdict = &v
			}
			x.GPUs = append(x.GPUs, row)
		}
		b.Hosts = append(b.Hosts, x)
	}
	return q.page(q.v.M.Tabs.Benchmarks, ui.BenchmarksPage(q.v, b))
}

func (s *server) requestBenchmark(q *req) error {
	h, err := s.Fleet.Host(q.Context(), q.PathValue("host"))
	if err != nil {
		return err
	}
	if h.ProviderID != q.provider.AccountID {
		return fault.New(fault.NotFound, "host_not_found", "There is no such host.")
	}
	if _, err := s.Benchmarks.Request(q.Context(), q.now, h.ID, "requested"); err != nil {
		return err
	}
	s.done(q, q.v.M.Bench.Asked)
	return q.redirect("/provider/benchmarks")
}

func (s *server) pricing(q *req) error { return s.showPricing(q, nil) }

// showPricing shows the rates, those that were typed as they were typed.
func (s *server) showPricing(q *req, typed map[string]string) error {
	prices, err := s.Market.Prices(q.Context(), q.provider.AccountID)
	if err != nil {
		return err
	}
	p := ui.Pricing{Provider: q.provider}
	for _, x := range prices {
		row := ui.PriceRow{Price: x, Name: modelName(x.Model)}
		if x.Micro > 0 {
			row.Typed = q.v.L.Typed(x.Micro)
		}
		if t, ok := typed[x.Model]; ok {
			row.Typed = t
		}
		p.Rows = append(p.Rows, row)
	}
	return q.page(q.v.M.Tabs.Pricing, ui.PricingPage(q.v, p))
}

// setPrices sets each rate that was changed; the wrong ones don't keep the right ones from being saved.
func (s *server) setPrices(q *req) error {
	if err := q.ParseForm(); err != nil {
		return unreadable()
	}
	prices, err := s.Market.Prices(q.Context(), q.provider.AccountID)
	if err != nil {
		return err
	}
	form, wrong := fault.Form{}, map[string]string{}
	for _, p := range prices {
		field := ui.PriceRow{Price: p}.Field()
		typed := q.PostForm.Get(field)
		if !q.PostForm.Has(field) || p.Micro == 0 && strings.TrimSpace(typed) == "" || p.Micro > 0 && typed == q.v.L.Typed(p.Micro) {
			continue // not sent, or not changed
		}
		_, err := s.Market.SetPrice(q.Context(), q.now, q.who, p.Model, typed)
		if f, ok := fault.As(err); ok && f.Kind == fault.Invalid {
			form[field], wrong[p.Model] = inner(f), typed
		} else if err != nil {
			return err
		}
	}
	if q.refused(form.Err()) {
		return s.showPricing(q, wrong)
	}
	s.done(q, q.v.M.Common.Saved)
	return q.redirect("/provider/pricing")
}

// inner is the fault of a form's only field, or the fault itself.
func inner(f *fault.Fault) *fault.Fault {
	for _, x := range f.Fields {
		return x
	}
	return f
}

func (s *server) earnings(q *req) error {
	all, err := s.Rentals.Earnings(q.Context(), q.now, q.provider.AccountID)
	if err != nil {
		return err
	}
	e := ui.Earnings{Provider: q.provider, E: all}
	e.List, e.Days = chosen(all.Days, q.FormValue("days"), q.FormValue("from"), q.FormValue("to"))
	if n := len(e.List); n > 0 {
		e.From, e.To = e.List[0].Date.UTC().Format(time.DateOnly), e.List[n-1].Date.UTC().Format(time.DateOnly)
	}
	if q.partial() {
		return q.fragment(ui.EarningsCard(q.v, e))
	}
	return q.page(q.v.M.Tabs.Earnings, ui.EarningsPage(q.v, e))
}

// chosen picks the days of a range: dates of one's own, or the newest 7, 30 or 90.
func chosen(days []rental.Day, count, from, to string) (list []rental.Day, n int) {
	a, err1 := time.Parse(time.DateOnly, from)
	b, err2 := time.Parse(time.DateOnly, to)
	if err := errors.Join(err1, err2); err == nil && !b.Before(a) {
		for _, d := range days {
			if !d.Date.Before(a) && d.Date.Before(b.AddDate(0, 0, 1)) {
				list = append(list, d)
			}
		}
		return list, 0
	}
	n = 30
	for _, k := range []int{7, 90} {
		if count == (map[int]string{7: "7", 90: "90"})[k] {
			n = k
		}
	}
	return days[max(0, len(days)-n):], n
}

func (s *server) payouts(q *req) error {
	set, err := s.Payouts.Setting(q.Context(), q.provider.AccountID)
	if err != nil {
		return err
	}
	return s.showPayouts(q, set)
}

func (s *server) showPayouts(q *req, typed payout.Setting) error {
	ctx, id := q.Context(), q.provider.AccountID
	p := ui.PayoutTab{Provider: q.provider, Setting: typed}
	var err error
	if p.Next, err = s.Payouts.Next(ctx, q.now, id); err != nil {
		return err
	}
	list, err := s.Payouts.Of(ctx, id, listLimit)
	if err != nil {
		return err
	}
	pending := func(x payout.Payout) bool { return x.State == payout.Planned || x.State == payout.Sending }
	for _, x := range list {
		if pending(x) {
			p.Pending = append(p.Pending, x)
		}
	}
	p.History = slices.DeleteFunc(list, pending)
	return q.page(q.v.M.Tabs.Payouts, ui.PayoutsTab(q.v, p))
}

func (s *server) setPayouts(q *req) error {
	set := payout.Setting{Schedule: q.text("schedule"), Rail: q.text("rail"), Destination: q.text("destination")}
	err := s.Payouts.Set(q.Context(), q.now, q.who, set)
	if q.refused(err) {
		return s.showPayouts(q, set)
	}
	if err != nil {
		return err
	}
	s.done(q, q.v.M.Common.Saved)
	return q.redirect("/provider/payouts")
}

func (s *server) install(q *req) error { return s.showInstall(q, "") }

func (s *server) showInstall(q *req, secret string) error {
	tokens, err := s.Fleet.Tokens(q.Context(), q.provider.AccountID)
	if err != nil {
		return err
	}
	in := ui.Install{Command: "curl -fsSL " + strings.TrimSuffix(s.BaseURL, "/") + "/agent | bash", Provider: q.provider, Secret: secret, Tokens: tokens}
	return q.page(q.v.M.Nav.Install, ui.InstallPage(q.v, in))
}

// createToken shows the secret in its own answer, without a redirect: it is kept nowhere.
func (s *server) createToken(q *req) error {
	secret, err := s.Fleet.Issue(q.Context(), s.DB, q.now, q.provider.AccountID, q.provider.MaxHosts)
	if err != nil {
		return err
	}
	q.v.Path = "/install" // what the language switch leads to
	return s.showInstall(q, secret)
}

func (s *server) revokeToken(q *req) error {
	if err := s.Fleet.Revoke(q.Context(), q.now, q.provider.AccountID, q.PathValue("id")); err != nil {
		return err
	}
	s.done(q, q.v.M.Install.Revoked)
	return q.redirect("/install")
}
