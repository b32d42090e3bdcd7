package e2e

import (
	"os"
	"path/filepath"
	"testing"

	pw "github.com/mxschmitt/playwright-go"
)

// browser starts Chromium. Without one the test is skipped loudly, except where GPUNEX_REQUIRE_BROWSER says that there
// must be one.
func browser(t *testing.T) pw.Browser {
	t.Helper()
	const chromium = "/usr/bin/chromium"
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	cli := filepath.Join(root, "node_modules", "playwright-core", "cli.js")
	for _, need := range []string{chromium, cli} {
		if _, err := os.Stat(need); err != nil {
			if os.Getenv("GPUNEX_REQUIRE_BROWSER") == "1" {
				t.Fatalf("a browser is required: %v (make test installs it)", err)
			}
			t.Skipf("SKIPPED: no browser here: %v (make test installs it)", err)
		}
	}
	t.Setenv("PLAYWRIGHT_CLI_PATH", cli)
	if os.Getenv("PLAYWRIGHT_NODEJS_PATH") == "" {
		node, err := lookNode()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("PLAYWRIGHT_NODEJS_PATH", node)
	}
	p, err := pw.Run(&pw.RunOptions{SkipInstallBrowsers: true})
	if err != nil {
		t.Fatalf("playwright: %v", err)
	}
	b, err := p.Chromium.Launch(pw.BrowserTypeLaunchOptions{
		ExecutablePath: pw.String(chromium),
		Args: []string{
			"--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-sync",
		},
	})
	if err != nil {
		t.Fatalf("Chromium: %v", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close Chromium: %v", err)
		}
		if err := p.Stop(); err != nil {
			t.Errorf("stop playwright: %v", err)
		}
	})
	return b
}

// tab is one person's browser: its own cookies, a language, a viewport.
type tab struct {
	t *testing.T
	pw.Page
	base string
}

func open(t *testing.T, b pw.Browser, base, locale string) *tab {
	t.Helper()
	c, err := b.NewContext(pw.BrowserNewContextOptions{Locale: pw.String(locale), Viewport: &pw.Size{Width: 1440, Height: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	c.SetDefaultTimeout(15_000)
	p, err := c.NewPage()
	if err != nil {
		t.Fatal(err)
	}
	x := &tab{t: t, Page: p, base: base}
	p.OnPageError(func(err error) { t.Errorf("script error on %s: %v", p.URL(), err) })
	p.OnConsole(func(m pw.ConsoleMessage) {
		if m.Type() == "error" && !expected(m.Text()) {
			t.Errorf("console on %s: %s", p.URL(), m.Text())
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			x.shot("failed")
		}
		_ = c.Close()
	})
	return x
}

// expected console messages: a refused form is answered with 422, which Chromium calls an error.
func expected(text string) bool {
	return len(text) > 0 && (contains(text, "422") || contains(text, "ERR_INCOMPLETE_CHUNKED_ENCODING") || contains(text, "ERR_ABORTED"))
}

func (x *tab) do(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatalf("on %s: %v", x.URL(), err)
	}
}

func (x *tab) visit(path string) {
	x.t.Helper()
	_, err := x.Goto(x.base + path)
	x.do(err)
}

func (x *tab) fill(label, text string) {
	x.t.Helper()
	x.do(x.GetByLabel(label, pw.PageGetByLabelOptions{Exact: pw.Bool(true)}).Fill(text))
}

func (x *tab) choose(label, value string) {
	x.t.Helper()
	_, err := x.GetByLabel(label, pw.PageGetByLabelOptions{Exact: pw.Bool(true)}).SelectOption(pw.SelectOptionValues{Values: &[]string{value}})
	x.do(err)
}

func (x *tab) click(role, name string) {
	x.t.Helper()
	x.do(x.GetByRole(pw.AriaRole(role), pw.PageGetByRoleOptions{Name: name, Exact: pw.Bool(true)}).First().Click())
}

// sees waits until the page shows the text.
func (x *tab) sees(text string) {
	x.t.Helper()
	x.do(pw.NewPlaywrightAssertions(20_000).Locator(x.Locator("main").GetByText(text).First()).ToBeVisible())
}

func (x *tab) shot(name string) {
	dir := os.Getenv("GPUNEX_SHOTS")
	if dir == "" {
		dir = "shots"
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		x.t.Error(err)
	}
	if _, err := x.Screenshot(pw.PageScreenshotOptions{Path: pw.String(filepath.Join(dir, name+".png")), FullPage: pw.Bool(true)}); err != nil {
		x.t.Logf("screenshot %s: %v", name, err)
	}
}
