package web

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/benchmark"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/db/dbtest"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/market"
	"github.com/gpunex/gpunex/internal/notice"
	"github.com/gpunex/gpunex/internal/payout"
	"github.com/gpunex/gpunex/internal/payout/rail/simulated"
	"github.com/gpunex/gpunex/internal/provider"
	"github.com/gpunex/gpunex/internal/rental"
)

// site is the pages over real services on a database of their own.
type site struct {
	Config
	t   *testing.T
	url string
}

func newSite(t *testing.T) *site {
	t.Helper()
	d := dbtest.New(t)
	s := &site{t: t, Config: config(d)}
	srv := httptest.NewServer(New(s.Config))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func config(d *db.DB) Config {
	const base = "http://gpunex.example"
	c := Config{DB: d, BaseURL: base, Dev: true, Unreachable: 30 * time.Second}
	c.Accounts = account.New(d)
	c.Notices = notice.New(d, nil, base)
	c.Fleet = fleet.New(d, fleet.Config{TokenTTL: 14 * 24 * time.Hour, Interval: 10 * time.Second, Unreachable: c.Unreachable})
	c.Providers = provider.New(d, c.Accounts, c.Notices, c.Fleet, base)
	c.Benchmarks = benchmark.New(d, c.Fleet, c.Notices, benchmark.Config{Every: 7 * 24 * time.Hour, Size: 64, Rounds: 2, Rows: 8})
	c.Market = market.New(d, market.Config{QuoteTTL: 2 * time.Minute, FeeBPS: 1000})
	c.Ledger = ledger.New(d)
	c.Rentals = rental.New(d, c.Market, c.Fleet, c.Ledger, func(string) {}, rental.Config{
		Hold: time.Hour, SettleEvery: 5 * time.Minute, Unreachable: c.Unreachable, Lost: 10 * time.Minute,
		StartLimit: 30 * time.Minute, StopMargin: 30 * time.Second, Maturity: 24 * time.Hour,
	})
	c.Payouts = payout.New(d, c.Ledger, c.Notices, []payout.Rail{simulated.New(d)}, payout.Config{Minimum: 50_000_000})
	return c
}

// reader is one person's browser.
type reader struct {
	*site
	client *http.Client
}

func (s *site) reader() *reader {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &reader{site: s, client: &http.Client{Jar: jar}}
}

// page is an answer, read as a tree.
type page struct {
	t      *testing.T
	status int
	path   string
	header http.Header
	doc    *html.Node
}

func (r *reader) get(path string) *page {
	r.t.Helper()
	return r.send(http.MethodGet, path, nil)
}

func (r *reader) post(path string, pairs ...string) *page {
	r.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return r.send(http.MethodPost, path, form)
}

func (r *reader) send(method, path string, form url.Values) *page {
	r.t.Helper()
	rq, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		r.t.Fatal(err)
	}
	if form != nil {
		rq.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	rs, err := r.client.Do(rq)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = rs.Body.Close() }()
	doc, err := html.Parse(rs.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return &page{t: r.t, status: rs.StatusCode, path: rs.Request.URL.RequestURI(), header: rs.Header, doc: doc}
}

// is fails unless the page has this status and, when given, this path.
func (p *page) is(status int, path string) *page {
	p.t.Helper()
	if p.status != status || path != "" && p.path != path {
		p.t.Fatalf("%d at %s, want %d at %s; the page says: %s", p.status, p.path, status, path, p.text("main"))
	}
	return p
}

// has fails unless the page's content holds the text.
func (p *page) has(text string) *page {
	p.t.Helper()
	if s := p.text("main"); !strings.Contains(s, text) {
		p.t.Errorf("%s lacks %q; it says: %s", p.path, text, s)
	}
	return p
}

// text is what an element says: the first with this name or, with a #, this id.
func (p *page) text(what string) string {
	n := p.find(what)
	if n == nil {
		return ""
	}
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (p *page) find(what string) *html.Node {
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode && (n.Data == what || "#"+attr(n, "id") == what) {
			return n
		}
	}
	return nil
}

func attr(n *html.Node, key string) string {
	if i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key }); i >= 0 {
		return n.Attr[i].Val
	}
	return ""
}

// value is what a field holds.
func (p *page) value(id string) string {
	p.t.Helper()
	n := p.find("#" + id)
	if n == nil {
		p.t.Fatalf("%s has no field %s", p.path, id)
	}
	return attr(n, "value")
}

const password = "correct-horse-battery"

func (r *reader) signUp(name, email string) *reader {
	r.t.Helper()
	r.post("/en/sign-up", "name", name, "email", email, "password", password).is(200, "/en/marketplace")
	return r
}

func TestRootChoosesTheLanguage(t *testing.T) {
	s := newSite(t)
	for accept, want := range map[string]string{"": "/en/", "fr-CA": "/fr/", "pt-BR": "/pt/", "de-AT,en;q=0.3": "/de/"} {
		rq := httptest.NewRequest(http.MethodGet, "/", nil)
		rq.Header.Set("Accept-Language", accept)
		w := httptest.NewRecorder()
		New(s.Config).ServeHTTP(w, rq)
		if got := w.Header().Get("Location"); got != want {
			t.Errorf("%q leads to %s, want %s", accept, got, want)
		}
	}
	r := s.reader()
	r.get("/de/sign-in").is(200, "")
	r.get("/").is(200, "/de/")
}

func TestHeaders(t *testing.T) {
	p := newSite(t).reader().get("/en/sign-in").is(200, "")
	if csp := p.header.Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy: %s", csp)
	}
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "script" && !strings.HasPrefix(attr(n, "src"), "/static/app.js?v=") {
			t.Errorf("script from %q", attr(n, "src"))
		}
	}
}

func TestCrossOriginPostIsRefused(t *testing.T) {
	s := newSite(t)
	rq := httptest.NewRequest(http.MethodPost, "/en/sign-in", strings.NewReader("email=a"))
	rq.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	New(s.Config).ServeHTTP(w, rq)
	if w.Code != http.StatusForbidden {
		t.Errorf("status %d", w.Code)
	}
}

func TestAssets(t *testing.T) {
	s := newSite(t)
	a, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"app.css", "app.js", "icons.svg", "geist.woff2", "geist-mono.woff2", "favicon.svg"} {
		rs, err := http.Get(s.url + a.url(name))
		if err != nil {
			t.Fatal(err)
		}
		_ = rs.Body.Close()
		if rs.StatusCode != 200 || !strings.Contains(rs.Header.Get("Cache-Control"), "immutable") || rs.Header.Get("Content-Type") == "" {
			t.Errorf("%s: %d %v", name, rs.StatusCode, rs.Header)
		}
	}
}

func TestUnknownPages(t *testing.T) {
	r := newSite(t).reader()
	r.get("/fr/nowhere").is(404, "").has("Cette page n’existe pas")
	r.get("/nowhere").is(404, "").has("This page does not exist")
	r.get("/de/console/billing").is(200, "/de/sign-in?next=%2Fconsole%2Fbilling")
	r.get("/en/operator/outbox").is(200, "/en/sign-in?next=%2Foperator%2Foutbox")
}

func TestSignUpFaults(t *testing.T) {
	r := newSite(t).reader()
	p := r.post("/de/sign-up", "name", "", "email", "no-address", "password", "short").is(422, "")
	p.has("3 Felder benötigen Ihre Aufmerksamkeit")
	for id, want := range map[string]string{"#name-err": "Geben Sie Ihren Namen ein.", "#email-err": "Geben Sie eine gültige E-Mail-Adresse ein."} {
		if got := p.text(id); got != want {
			t.Errorf("%s says %q, want %q", id, got, want)
		}
	}
	if p.value("email") != "no-address" {
		t.Error("what was typed is lost")
	}
	if p.value("password") != "" {
		t.Error("a password must not come back")
	}
}

func TestSignIn(t *testing.T) {
	s := newSite(t)
	first := s.reader().signUp("Maria Silva", "maria@example.com")
	first.get("/pt/console/billing").is(200, "/pt/console/billing").has("Saldo")

	second := s.reader()
	second.post("/fr/sign-in", "email", "maria@example.com", "password", "wrong-wrong-wrong").is(422, "").has("L’e-mail ou le mot de passe est incorrect.")
	second.post("/fr/sign-up", "name", "M", "email", "maria@example.com", "password", password).is(422, "").has("Cette adresse a déjà un compte.")
	second.post("/fr/sign-in", "email", "maria@example.com", "password", password, "next", "/roles").is(200, "/fr/roles")
	second.post("/fr/sign-out").is(200, "/fr/marketplace")
	second.get("/fr/roles").is(200, "/fr/sign-in?next=%2Froles")

	// A next that leads elsewhere leads nowhere.
	s.reader().post("/en/sign-in", "email", "maria@example.com", "password", password, "next", "https://evil.example").is(200, "/en/marketplace")
}

func TestOperatorPagesAreForOperators(t *testing.T) {
	r := newSite(t).reader().signUp("Maria", "maria@example.com")
	for _, path := range []string{"applications", "hosts", "payouts", "ledger", "test-money", "outbox"} {
		r.get("/de/operator/"+path).is(403, "").has("Nur Betreiber können diese Seite öffnen.")
	}
	r.get("/de/provider").is(403, "").has("Sie bieten noch keine GPUs an.")
}

func noon() time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) }
