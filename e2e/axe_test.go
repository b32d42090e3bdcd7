package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	var people []*tab
	of := map[*tab][]sight{}
	for _, s := range all {
		if of[s.who] == nil {
			people = append(people, s.who)
		}
		of[s.who] = append(of[s.who], s)
	}
	finds(t, all[0].who)
	t.Run("accessible", func(t *testing.T) {
		for _, who := range people {
			t.Run(of[who][0].name, func(t *testing.T) {
				t.Parallel()
				x := *who
				x.t = t
				if who != all[0].who {
					x.axe()
				}
				for _, lang := range []string{"en", "pt", "fr", "de"} {
					for _, s := range of[who] {
						x.look(s, lang)
					}
				}
			})
		}
	})
}

// axe loads axe-core with every page that the tab visits from here on. The policy of our pages doesn't hold for it.
func (x *tab) axe() {
	x.t.Helper()
	x.do(x.Context().AddInitScript(pw.Script{Path: pw.String(filepath.Join("node_modules", "axe-core", "axe.min.js"))}))
}

// finds makes sure that the looks see: a page that was spoiled must not pass.
func finds(t *testing.T, x *tab) {
	t.Helper()
	x.axe()
	x.visit("/en/marketplace")
	_, err := x.Evaluate(`() => { const e = document.querySelector("main"); e.innerHTML += '<div><button></button></div>'; e.lastChild.className = "fixed"; document.body.append(Object.assign(document.createElement("p"), {textContent: "x".repeat(5000)})); }`)
	x.do(err)
	for script, want := range map[string]string{problems: "button-name", wide: " px of "} {
		if found, err := x.Evaluate(script, []string{}); err != nil || !strings.Contains(fmt.Sprint(found), want) {
			t.Errorf("a spoiled page must not pass: %v, %v", found, err)
		}
	}
}

func (x *tab) look(s sight, lang string) {
	x.t.Helper()
	say := func(how, script string, arg any) {
		x.t.Helper()
		found, err := x.Evaluate(script, arg)
		x.do(err)
		if text := fmt.Sprint(found); text != "" {
			x.t.Errorf("%s, %s %s: %s", s.name, lang, how, text)
		}
	}
	x.size(1440, 1000)
	x.paint(pw.ColorSchemeLight)
	x.visit("/" + lang + s.path)
	x.settle()
	say("light", problems, []string{})
	x.picture(lang, s.name, "desk-light")
	x.paint(pw.ColorSchemeDark)
	say("dark", problems, []string{"color-contrast"}) // the others have seen no change
	x.picture(lang, s.name, "desk-dark")
	x.size(390, 844)
	say("phone", wide, nil)
	x.picture(lang, s.name, "phone-dark")
	if lang == "de" { // the longest words
		x.paint(pw.ColorSchemeLight)
		say("phone", problems, []string{})
	}
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
