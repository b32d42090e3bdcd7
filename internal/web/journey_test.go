package web

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/gpunex/gpunex/internal/account"
)

// operator signs in as one.
func (s *site) operator() *reader {
	s.t.Helper()
	if _, err := s.Accounts.MakeOperator(s.t.Context(), noon(), account.SignUp{Email: "op@example.com", Name: "Olga Op", Password: password, Locale: "en"}); err != nil {
		s.t.Fatal(err)
	}
	r := s.reader()
	r.post("/en/sign-in", "email", "op@example.com", "password", password).is(200, "/en/marketplace")
	return r
}

// form is an application without fault, as pairs; change replaces or adds values.
func form(change ...string) []string {
	pairs := []string{
		"op", "submit", "full_name", "Joana Teste", "email", "joana@example.com", "company", "Teste Lda",
		"entries.0.model", "l4", "entries.0.quantity", "2", "entries.0.ram_gb", "256", "entries.0.upload_gbps", "1", "entries.0.download_gbps", "2,5",
		"entries.0.availability", "24/7", "entries.0.city", "Porto", "entries.0.country", "PT", "entries.0.region", "pt-1",
		"ups", "yes", "commitment", "12", "maintenance_notes", "Primeiro domingo.",
	}
	for i := 0; i+1 < len(change); i += 2 {
		done := false
		for j := 0; j < len(pairs); j += 2 {
			if pairs[j] == change[i] {
				pairs[j+1], done = change[i+1], true
			}
		}
		if !done {
			pairs = append(pairs, change[i], change[i+1])
		}
	}
	return pairs
}

// link is the address of the first link whose address begins with prefix.
func (p *page) link(prefix string) string {
	p.t.Helper()
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "a" && strings.HasPrefix(attr(n, "href"), prefix) {
			return attr(n, "href")
		}
	}
	p.t.Fatalf("%s has no link to %s…", p.path, prefix)
	return ""
}

// TestApplication goes from the page Roles to an approved provider, with a question between.
func TestApplication(t *testing.T) {
	s := newSite(t)
	joana := s.reader().signUp("Joana Teste", "joana@example.com")
	joana.get("/pt/roles").is(200, "").has("Candidatar-se para Fornecer GPUs")
	joana.get("/pt/roles/apply").is(200, "").has("Entradas de GPU")

	p := joana.post("/pt/roles/apply", form("full_name", "", "entries.0.quantity", "many", "company", "Empresa <b>")...).is(422, "")
	p.has("precisam da sua atenção")
	if p.value("company") != "Empresa <b>" || p.value("entries.0.quantity") != "many" {
		t.Error("what was typed is lost")
	}
	if p.text("#full_name-err") == "" || p.text("#entries.0.quantity-err") == "" {
		t.Errorf("faults must stand beside their fields: %q, %q", p.text("#full_name-err"), p.text("#entries.0.quantity-err"))
	}
	if got := joana.get("/pt/roles/apply").value("company"); got != "Empresa <b>" {
		t.Errorf("the draft holds %q", got)
	}

	joana.post("/pt/roles/apply/draft", form("maintenance_notes", "", "company", "Rascunho")...).is(200, "")
	if got := joana.get("/de/roles/apply").value("company"); got != "Rascunho" {
		t.Errorf("the draft holds %q", got)
	}
	if got := joana.post("/pt/roles/apply", form("op", "add")...).is(200, "").value("entries.1.city"); got != "Porto" {
		t.Errorf("a new entry starts with city %q", got)
	}

	joana.post("/pt/roles/apply", form()...).is(200, "/pt/roles/application").has("Submetida")

	op := s.operator()
	q := op.get("/en/operator/applications").is(200, "").has("Joana Teste")
	app := q.link("/en/operator/applications/app_")
	op.get(app).is(200, "").has("2 × L4")
	op.post(app+"/ask", "question", "").is(422, "").has("Write")
	op.post(app+"/ask", "question", "Which building?").is(200, app).has("The applicant has been asked.")

	joana.get("/pt/roles/application").has("Which building?").has("Informação pedida")
	joana.get("/pt/roles/apply").has("Which building?")
	joana.post("/pt/roles/apply", form("maintenance_notes", "Edifício 2")...).is(200, "/pt/roles/application").has("Submetida")

	op.post(app+"/approve", "tier", "enterprise", "model", "l4", "max_hosts", "0").is(422, "")
	op.post(app+"/approve", "tier", "enterprise", "model", "l4", "max_hosts", "3").is(200, app).has("Approved")
	op.get("/en/operator/outbox").is(200, "").has("joana@example.com").has("gpx_")
	op.post(app+"/reject", "reason", "Too late").is(409, "").has("This application has already been decided.")

	joana.get("/pt/roles/application").has("Aprovada")
	joana.get("/pt/roles/apply").is(200, "/pt/provider")
	joana.get("/fr/provider").is(200, "").has("Niveau Enterprise")
	pricing(t, joana)
	tokens(t, joana)
	everyPage(t, joana, op)
}

func pricing(t *testing.T, r *reader) {
	t.Helper()
	r.get("/de/provider/pricing").is(200, "").has("Stundensatz").has("L4")
	for _, wrong := range []string{"abc", "1e3", "2.1234567", "1,234.5", "-1"} {
		p := r.post("/de/provider/pricing", "rate-l4", wrong).is(422, "")
		if p.value("rate-l4") != wrong || p.text("#rate-l4-err") == "" {
			t.Errorf("%q: the field holds %q and says %q", wrong, p.value("rate-l4"), p.text("#rate-l4-err"))
		}
	}
	r.post("/pt/provider/pricing", "rate-l4", "2,19").is(200, "/pt/provider/pricing").has("Guardado")
	for lang, want := range map[string]string{"pt": "2,19", "en": "2.19", "fr": "2,19", "de": "2,19"} {
		if got := r.get("/" + lang + "/provider/pricing").value("rate-l4"); got != want {
			t.Errorf("%s shows %q, want %q", lang, got, want)
		}
	}
	r.post("/en/provider/pricing", "rate-l4", "0.000001").is(200, "/en/provider/pricing")
	if got := r.get("/en/provider/pricing").value("rate-l4"); got != "0.000001" {
		t.Errorf("the smallest rate reads %q", got)
	}
}

func tokens(t *testing.T, r *reader) {
	t.Helper()
	r.get("/en/install").is(200, "").has("curl -fsSL http://gpunex.example/agent | bash")
	p := r.post("/en/install/tokens").is(200, "")
	secret := p.text("#secret")
	if !strings.HasPrefix(secret, "gpx_") {
		t.Fatalf("the new token reads %q", secret)
	}
	if strings.Contains(r.get("/en/install").text("main"), secret) {
		t.Error("a token's secret is shown twice")
	}
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "form" && strings.HasSuffix(attr(n, "action"), "/revoke") {
			r.post(attr(n, "action")).is(200, "/en/install").has("The token has been revoked.")
			return
		}
	}
	t.Error("no token can be revoked")
}

// everyPage opens each page in each language.
func everyPage(t *testing.T, provider, operator *reader) {
	t.Helper()
	for _, lang := range []string{"en", "pt", "fr", "de"} {
		for _, path := range []string{
			"/", "/marketplace?model=l4&max=2,5&vram=20&order=price", "/console/instances", "/console/billing", "/roles", "/provider", "/provider/overview",
			"/provider/benchmarks", "/provider/pricing", "/provider/earnings", "/provider/earnings?days=7", "/provider/earnings?from=2026-11-01&to=2026-11-30",
			"/provider/payouts", "/install",
		} {
			provider.get("/"+lang+path).is(http.StatusOK, "")
		}
		for _, path := range []string{"applications", "hosts", "payouts", "ledger", "test-money", "outbox"} {
			operator.get("/"+lang+"/operator/"+path).is(http.StatusOK, "")
		}
	}
}

func TestTestMoney(t *testing.T) {
	s := newSite(t)
	sam := s.reader().signUp("Sam Customer", "sam@example.com")
	sam.get("/en/console/billing").is(200, "").has("Nothing has moved yet.")
	op := s.operator()
	p := op.get("/en/operator/test-money").is(200, "")
	var id string
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "option" && strings.HasPrefix(n.FirstChild.Data, "Sam Customer") {
			id = attr(n, "value")
		}
	}
	op.post("/en/operator/test-money", "key", "k1", "account", id, "amount", "abc").is(422, "").has("Enter a plain amount")
	for range 2 { // a double click posts once
		op.post("/en/operator/test-money", "key", "k1", "account", id, "amount", "100").is(200, "").has("Test money posted: 100.00 USDC.")
	}
	sam.get("/de/console/billing").has("Guthaben 100,00 0000 USDC").has("Testgeld").has("+100,000000")
	op.get("/en/operator/ledger").has("Balanced")
}

func TestOfferThatIsGone(t *testing.T) {
	r := newSite(t).reader()
	if p := r.get("/fr/rent/hst_none/l4"); p.status != 404 && p.status != 409 {
		t.Errorf("status %d", p.status)
	}
	r.get("/en/marketplace?max=cheap").is(422, "").has("1 field needs your attention")
}

func TestWithdraw(t *testing.T) {
	r := newSite(t).reader().signUp("Joana", "joana@example.com")
	r.get("/en/roles/apply").is(200, "")
	r.post("/en/roles/apply", form()...).is(200, "/en/roles/application")
	r.post("/en/roles/withdraw").is(200, "/en/roles/application").has("Withdrawn")
	r.post("/en/roles/withdraw").is(404, "") // there is nothing left to withdraw
}
