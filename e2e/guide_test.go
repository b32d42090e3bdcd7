package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	pw "github.com/mxschmitt/playwright-go"

	"github.com/gpunex/gpunex/internal/demo"
	"github.com/gpunex/gpunex/internal/demo/demotest"
)

func contains(s, sub string) bool { return strings.Contains(s, sub) }

func lookNode() (string, error) { return exec.LookPath("node") }

// platform starts gpunexd as a process and gives its address and data folder.
func platform(t *testing.T, bin string) (base, data string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "gpunex-e2e-") // t.TempDir is closed to the database's own user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	address := demotest.Address(t)
	base, data = "http://"+strings.Replace(address, "127.0.0.1", "localhost", 1), filepath.Join(dir, "data")
	cmd := exec.Command(filepath.Join(bin, "gpunexd"), "dev", "--empty", "--listen", address, "--bus-listen", "127.0.0.1:0", "--data", data,
		"--heartbeat", "1s", "--unreachable", "5s", "--settle", "2s")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("gpunexd must stop cleanly: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", nil); err != nil {
			t.Fatal(err)
		} else if a, err := http.DefaultClient.Do(r); err == nil {
			_ = a.Body.Close()
			if a.StatusCode == http.StatusOK {
				return base, data
			}
		}
		select {
		case <-ctx.Done():
			t.Fatal("gpunexd didn't get ready in 30 s")
		case <-tick.C:
		}
	}
}

const password = "correct-horse-battery"

func (x *tab) signUp(lang, name, email string, labels [4]string) {
	x.t.Helper()
	x.visit("/" + lang + "/sign-up")
	x.fill(labels[0], name)
	x.fill(labels[1], email)
	x.fill(labels[2], password)
	x.click("button", labels[3])
	x.do(x.WaitForURL(regexp.MustCompile(`/` + lang + `/(marketplace|roles|console.*)?$`)))
}

// TestGuide is the provider's way through the Portuguese guide, with an operator and a customer beside.
func TestGuide(t *testing.T) {
	if _, err := os.Stat("node_modules"); err != nil && os.Getenv("GPUNEX_REQUIRE_BROWSER") != "1" {
		t.Skip("SKIPPED: e2e/node_modules is missing (make test installs it)")
	}
	bin := demotest.Programs(t)
	b := browser(t)
	base, data := platform(t, bin)
	docker := exec.CommandContext(t.Context(), "docker", "image", "inspect", "gpunex/hello:1").Run() == nil

	op := exec.CommandContext(t.Context(), filepath.Join(bin, "gpunexd"), "operator", "--data", data, "operator@e2e.example")
	op.Env = append(os.Environ(), "GPUNEX_PASSWORD="+password)
	if out, err := op.CombinedOutput(); err != nil {
		t.Fatalf("gpunexd operator: %v\n%s", err, out)
	}

	// Candidatar-se como Fornecedor
	provider := open(t, b, base, "pt-PT")
	provider.signUp("pt", "Joana Teste", "joana@e2e.example", [4]string{"Nome Completo", "Endereço de Email", "Palavra-passe", "Criar conta"})
	provider.click("link", "Funções")
	provider.click("link", "Candidatar-se para Fornecer GPUs")
	provider.fill("Nome Completo", "Joana Teste")
	provider.fill("Endereço de Email", "joana@e2e.example")
	provider.fill("Nome da Empresa (opcional)", "Teste Lda")
	provider.click("button", "Submeter")
	provider.do(pw.NewPlaywrightAssertions().Locator(provider.Locator("[aria-invalid=true]").First()).ToBeVisible())
	provider.choose("Modelo de GPU", "h100-sxm")
	provider.fill("Quantidade", "1")
	provider.fill("RAM do Sistema", "256")
	provider.do(provider.Locator(`[name="entries.0.upload_gbps"]`).Fill("1"))
	provider.do(provider.Locator(`[name="entries.0.download_gbps"]`).Fill("2,5"))
	provider.choose("Disponibilidade", "24/7")
	provider.fill("Cidade", "Porto")
	provider.choose("País", "PT")
	provider.choose("Estado da UPS", "yes")
	provider.choose("Período de Compromisso", "12")
	provider.fill("Notas de Manutenção", "Primeiro domingo de cada mês.")
	provider.click("button", "Submeter")
	provider.do(provider.WaitForURL(regexp.MustCompile(`/pt/roles/application`)))
	provider.sees("Joana Teste")

	// The operator approves.
	operator := open(t, b, base, "en-GB")
	operator.visit("/en/sign-in")
	operator.fill("Email Address", "operator@e2e.example")
	operator.fill("Password", password)
	operator.click("button", "Sign in")
	operator.do(operator.WaitForURL(regexp.MustCompile(`/en/(marketplace|operator.*|console.*)?$`)))
	operator.visit("/en/operator/applications")
	operator.click("link", "Joana Teste")
	operator.choose("Tier", "enterprise")
	operator.click("button", "Approve")
	operator.visit("/en/operator/outbox")
	operator.sees("joana@e2e.example")
	text, err := operator.Locator("main").TextContent()
	operator.do(err)
	token := regexp.MustCompile(`gpx_[A-Za-z0-9]+`).FindString(text)
	if token == "" || !strings.Contains(text, base+"/agent | bash") {
		t.Fatalf("the approval mail must hold the install command and a token; the outbox shows:\n%s", text)
	}

	// Instalar o Agente Docker
	log, err := os.Create(filepath.Join(filepath.Dir(data), "host.log"))
	if err != nil {
		t.Fatal(err)
	}
	host := &demo.Host{
		Agent: filepath.Join(bin, "gpunex-agent"), Dir: filepath.Join(filepath.Dir(data), "host"), Name: "porto-1", Profile: "h100-sxmx1",
		Platform: base, Token: token, Docker: docker, Log: log,
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		host.Leave()
		if t.Failed() {
			out, _ := os.ReadFile(log.Name())
			t.Logf("the host said:\n%s", out)
		}
	})
	provider.visit("/pt/provider")
	provider.eventually("Online", "/pt/provider")
	provider.sees("simulada")

	// Benchmark Automático, Definir os Seus Preços
	provider.click("link", "Benchmarks")
	provider.eventually("Largura de banda", "/pt/provider/benchmarks")
	provider.click("link", "Preços")
	price := provider.Locator(`input[name^="rate"]`).First()
	for _, wrong := range []string{"abc", "1e3"} {
		provider.do(price.Fill(wrong))
		provider.click("button", "Guardar alterações")
		provider.do(pw.NewPlaywrightAssertions().Locator(provider.Locator("[aria-invalid=true]").First()).ToBeVisible())
		provider.do(pw.NewPlaywrightAssertions().Locator(provider.Locator(`input[name^="rate"]`).First()).ToHaveValue(wrong))
	}
	provider.do(provider.Locator(`input[name^="rate"]`).First().Fill("2,19"))
	provider.click("button", "Guardar alterações")
	provider.sees("Guardad")

	// A customer rents.
	customer := open(t, b, base, "en-GB")
	customer.signUp("en", "Sam Customer", "sam@e2e.example", [4]string{"Full Name", "Email Address", "Password", "Create account"})
	operator.visit("/en/operator/test-money")
	operator.fillFirst(`select[name="account"], input[name="account"]`, "Sam Customer")
	operator.do(operator.Locator(`input[name="amount"]`).Fill("50"))
	operator.do(operator.Locator(`main form button`).Last().Click())
	operator.sees("50")
	customer.visit("/en/marketplace")
	customer.do(customer.GetByRole("link", pw.PageGetByRoleOptions{Name: regexp.MustCompile("^Rent .*H100")}).First().Click())
	customer.do(customer.Locator(`input[name="gpus"]`).Fill("1"))
	customer.do(customer.Locator(`main form button`).First().Click())
	customer.do(customer.Locator(`input[name="image"]`).Fill("gpunex/hello:1"))
	quote := customer.URL()
	customer.do(customer.GetByRole("button", pw.PageGetByRoleOptions{Name: "Rent", Exact: pw.Bool(true)}).Dblclick()) // a double click rents once
	customer.do(customer.WaitForURL(regexp.MustCompile(`/console/instances/rnt_`)))
	customer.do(pw.NewPlaywrightAssertions(30_000).Locator(customer.Locator("#state")).ToContainText("Running"))
	customer.do(pw.NewPlaywrightAssertions(30_000).Locator(customer.Locator("[data-log], [role=log]").First()).ToContainText(regexp.MustCompile(`\d`)))
	customer.shot("instance-running")
	instance := customer.URL()
	customer.visit("/en/console/instances")
	if n, err := customer.Locator(`main a[href*="/console/instances/rnt_"]`).Count(); err != nil || n != 1 {
		t.Errorf("a double click must rent once; the list shows %d, %v", n, err)
	}

	// Ganhos, live, while it runs.
	provider.visit("/pt/provider/overview")
	live := provider.Locator("#live-amount")
	before, err := live.TextContent()
	provider.do(err)
	provider.do(pw.NewPlaywrightAssertions(30_000).Locator(live).Not().ToHaveText(before))
	provider.shot("overview-live")

	// Stop, and the money.
	_, err = customer.Goto(instance)
	customer.do(err)
	customer.click("button", "Stop instance")
	customer.do(pw.NewPlaywrightAssertions(30_000).Locator(customer.Locator("#state")).ToContainText("Ended"))
	// All that the end changes changes on the open page.
	main := pw.NewPlaywrightAssertions(30_000).Locator(customer.Locator("main"))
	customer.do(main.ToContainText("Hold released"))
	customer.do(main.Not().ToContainText("Live log"))
	customer.do(main.Not().ToContainText("The instance is stopping"))
	customer.do(pw.NewPlaywrightAssertions(30_000).Locator(customer.Locator("#story")).ToContainText("Ended"))
	customer.shot("instance-ended")
	provider.click("link", "Ganhos")
	provider.sees("Receita")
	provider.shot("earnings")
	provider.click("link", "Pagamentos")
	provider.sees("Pagamentos pendentes")
	provider.shot("payouts")
	operator.visit("/en/operator/ledger")
	operator.shot("ledger")

	// Another application, so that an operator's forms are there to look at.
	customer.visit("/en/roles/apply")
	customer.do(customer.Locator(`[name="full_name"]`).Fill("Sam Customer"))
	customer.do(customer.Locator(`[name="email"]`).Fill("sam@e2e.example"))
	customer.choose("GPU Model", "rtx-4090")
	customer.fill("Quantity", "2")
	customer.fill("System RAM", "64")
	customer.do(customer.Locator(`[name="entries.0.upload_gbps"]`).Fill("1"))
	customer.do(customer.Locator(`[name="entries.0.download_gbps"]`).Fill("1"))
	customer.choose("Availability", "24/7")
	customer.fill("City", "Porto")
	customer.choose("Country", "PT")
	customer.choose("UPS Status", "no")
	customer.choose("Commitment Period", "3")
	customer.click("button", "Submit")
	customer.do(customer.WaitForURL(regexp.MustCompile(`/en/roles/application`)))
	operator.visit("/en/operator/applications")
	operator.click("link", "Sam Customer")
	operator.do(operator.WaitForURL(regexp.MustCompile(`/operator/applications/.+`)))
	review := operator.URL()

	visitor := open(t, b, base, "en-GB")
	visitor.visit("/en/marketplace")
	offer, err := visitor.GetByRole("link", pw.PageGetByRoleOptions{Name: regexp.MustCompile("^Rent .*H100")}).First().GetAttribute("href")
	visitor.do(err)
	local := func(url string) string { return strings.TrimPrefix(strings.TrimPrefix(url, base), "/en") }
	accessible(t, []sight{
		{visitor, "marketplace", "/marketplace"}, {visitor, "sign-in", "/sign-in"}, {visitor, "sign-up", "/sign-up"}, {visitor, "rent", local(offer)},
		{customer, "quote", local(quote)}, {customer, "instances", "/console/instances"}, {customer, "instance", local(instance)},
		{customer, "billing", "/console/billing"}, {customer, "application", "/roles/application"},
		{operator, "roles", "/roles"}, {operator, "apply", "/roles/apply"},
		{provider, "overview", "/provider"}, {provider, "benchmarks", "/provider/benchmarks"}, {provider, "pricing", "/provider/pricing"},
		{provider, "earnings", "/provider/earnings?days=7"}, {provider, "payouts", "/provider/payouts"}, {provider, "install", "/install"},
		{operator, "queue", "/operator/applications"}, {operator, "review", local(review)}, {operator, "hosts", "/operator/hosts"},
		{operator, "operator-payouts", "/operator/payouts"}, {operator, "ledger", "/operator/ledger"},
		{operator, "test-money", "/operator/test-money"}, {operator, "outbox", "/operator/outbox"},
	})
}

// eventually reloads a page until it shows the text: for what a page without a stream shows.
func (x *tab) eventually(text, path string) {
	x.t.Helper()
	var err error
	for range 30 {
		x.visit(path)
		seen := x.Locator("main").GetByText(text).Locator("visible=true").First()
		if err = pw.NewPlaywrightAssertions(1000).Locator(seen).ToBeVisible(); err == nil {
			return
		}
	}
	x.t.Fatal(fmt.Errorf("%s never showed %q: %w", path, text, err))
}

// fillFirst fills a field or chooses an option by its label's beginning.
func (x *tab) fillFirst(selector, text string) {
	x.t.Helper()
	f := x.Locator(selector).First()
	tag, err := f.Evaluate("e => e.tagName", nil)
	x.do(err)
	if tag != "SELECT" {
		x.do(f.Fill(text))
		return
	}
	value, err := f.Evaluate("(e, t) => [...e.options].find(o => o.text.includes(t))?.value", text)
	x.do(err)
	_, err = f.SelectOption(pw.SelectOptionValues{Values: &[]string{fmt.Sprint(value)}})
	x.do(err)
}
