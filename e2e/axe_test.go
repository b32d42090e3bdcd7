package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pw "github.com/mxschmitt/playwright-go"
)

// sight is one page as one person sees it.
type sight struct {
	who        *tab
	name, path string
}

// problems runs axe-core on the page and says what it finds; rules of none are all rules.
const problems = `async (rules) => {
	const r = await axe.run(document, {
		resultTypes: ["violations"], preload: false, iframes: false,
		...(rules.length ? {runOnly: {type: "rule", values: rules}} : {}),
	});
	return r.violations.map((v) => v.id + " (" + v.impact + "): " + v.help + v.nodes.slice(0, 3).map((n) =>
		"\n\t" + n.target.join(" ") + "\n\t" + n.html.slice(0, 200) + "\n\t" + n.any.concat(n.all, n.none).map((c) => c.message).join("; ")).join("")).join("\n");
}`

// wide says what makes the page scroll sideways.
const wide = `() => {
	const d = document.documentElement;
	if (d.scrollWidth <= innerWidth) return "";
	const far = [...document.querySelectorAll("main *, header *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1);
	return d.scrollWidth + " px of " + innerWidth + ": " + far.slice(0, 4).map((e) => e.tagName + "." + e.className).join(", ");
}`

// accessible runs axe-core over pages in all languages, light and dark, at a desk and on a phone, where no page may
// scroll sideways either.
func accessible(t *testing.T, all []sight) {
	t.Helper()
	start, looks := time.Now(), 0
	ready := map[*tab]bool{}
	for _, s := range all {
		if !ready[s.who] {
			ready[s.who] = true
			s.who.do(s.who.Context().AddInitScript(pw.Script{Path: pw.String(filepath.Join("node_modules", "axe-core", "axe.min.js"))}))
		}
	}
	say := func(s sight, how, script string, arg any) {
		t.Helper()
		looks++
		found, err := s.who.Evaluate(script, arg)
		s.who.do(err)
		if text := fmt.Sprint(found); text != "" {
			t.Errorf("%s, %s: %s", s.name, how, text)
		}
	}
	for _, lang := range []string{"en", "pt", "fr", "de"} {
		for _, s := range all {
			s.who.size(1440, 1000)
			s.who.paint(pw.ColorSchemeLight)
			s.who.visit("/" + lang + s.path)
			s.who.settle()
			say(s, lang+" light", problems, []string{})
			s.who.picture(lang, s.name, "desk-light")
			s.who.paint(pw.ColorSchemeDark)
			say(s, lang+" dark", problems, []string{"color-contrast"})
			s.who.picture(lang, s.name, "desk-dark")
			s.who.size(390, 844)
			say(s, lang+" phone", wide, nil)
			s.who.picture(lang, s.name, "phone-dark")
			if lang == "de" {
				s.who.paint(pw.ColorSchemeLight)
				say(s, lang+" phone", problems, []string{})
			}
		}
	}
	t.Logf("axe-core and width: %d looks at %d pages in %s", looks, len(all), time.Since(start).Round(time.Second))
}

// settle opens what is folded and waits for the chart, which comes after the page.
func (x *tab) settle() {
	x.t.Helper()
	_, err := x.Evaluate(`() => document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
	x.do(err)
	_, err = x.WaitForFunction(`() => [...document.querySelectorAll("[data-chart]")].every((e) => e.dataset.ready)`, nil)
	x.do(err)
}

func (x *tab) size(width, height int) {
	x.t.Helper()
	x.do(x.SetViewportSize(width, height))
}

func (x *tab) paint(c *pw.ColorScheme) {
	x.t.Helper()
	x.do(x.EmulateMedia(pw.PageEmulateMediaOptions{ColorScheme: c, ReducedMotion: pw.ReducedMotionReduce}))
}

// picture keeps what the page looks like, where GPUNEX_SHOTS asks for pictures.
func (x *tab) picture(lang, name, how string) {
	if os.Getenv("GPUNEX_SHOTS") != "" && lang == "pt" {
		x.shot(strings.Join([]string{name, how}, "-"))
	}
}
