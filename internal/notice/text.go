package notice

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

//go:embed texts/*.toml
var files embed.FS

// text is one kind of notice in one language.
type text struct {
	Subject string `toml:"subject"`
	Body    string `toml:"body"`
}

// texts is one language.
type texts struct {
	Greeting       string `toml:"greeting"`
	GreetingNobody string `toml:"greeting_nobody"`
	Closing        string `toml:"closing"`
	// Words holds, for a placeholder, the words for the codes that its value may be.
	Words   map[string]map[string]string `toml:"words"`
	Notices map[string]text              `toml:"notices"`
}

var locales = []string{"en", "pt-PT", "fr", "de"}

// loadTexts reads every language and checks that each says the same things as English.
func loadTexts() (map[string]texts, error) {
	all := map[string]texts{}
	var errs []error
	for _, l := range locales {
		var t texts
		meta, err := toml.DecodeFS(files, "texts/"+l+".toml", &t)
		if err != nil {
			return nil, fmt.Errorf("notice: texts in %s: %w", l, err)
		}
		for _, k := range meta.Undecoded() {
			errs = append(errs, fmt.Errorf("notice: texts in %s: nothing reads %s", l, k))
		}
		all[l] = t
	}
	for _, l := range locales[1:] {
		errs = append(errs, compare(l, all["en"], all[l]))
	}
	return all, errors.Join(errs...)
}

// compare says what a language lacks or has beyond the reference.
func compare(locale string, ref, t texts) error {
	var errs []error
	same := func(what string, want, got []string) {
		if slices.Sort(want); !slices.Equal(want, slices.Sorted(slices.Values(got))) {
			errs = append(errs, fmt.Errorf("notice: texts in %s: %s: has %q, English has %q", locale, what, got, want))
		}
	}
	same("greeting", placeholders(ref.Greeting), placeholders(t.Greeting))
	same("closing", placeholders(ref.Closing), placeholders(t.Closing))
	same("kinds", slices.Collect(maps.Keys(ref.Notices)), slices.Collect(maps.Keys(t.Notices)))
	for kind, want := range ref.Notices {
		got := t.Notices[kind]
		same(kind+" subject", placeholders(want.Subject), placeholders(got.Subject))
		same(kind+" body", placeholders(want.Body), placeholders(got.Body))
	}
	same("words", slices.Collect(maps.Keys(ref.Words)), slices.Collect(maps.Keys(t.Words)))
	for name, want := range ref.Words {
		same("words of "+name, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(t.Words[name])))
	}
	return errors.Join(errs...)
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

func placeholders(s string) []string { return placeholder.FindAllString(s, -1) }

// missing is written for a value that a notice should bring and doesn't.
const missing = "–"

// render gives a notice's subject and body. Values are put in once: what a person typed is never read as a placeholder.
func (s *Service) render(n Notice) (subject, body string, err error) {
	t, ok := s.texts[n.Locale]
	if !ok {
		t = s.texts["en"]
	}
	what, ok := t.Notices[n.Kind]
	if !ok {
		return "", "", fmt.Errorf("notice: no text for %q", n.Kind)
	}
	fill := func(template string) string {
		return placeholder.ReplaceAllStringFunc(template, func(p string) string {
			name := p[1 : len(p)-1]
			if name == "base" {
				return s.base
			}
			value := n.Data[name]
			if word, ok := t.Words[name][value]; ok {
				return word
			}
			if value == "" {
				return missing
			}
			return value
		})
	}
	greeting := t.GreetingNobody
	if n.Data["name"] != "" {
		greeting = t.Greeting
	}
	subject = strings.Join(strings.Fields(fill(what.Subject)), " ") // one line, whatever the values hold
	return subject, fill(greeting) + "\n\n" + fill(what.Body) + "\n" + fill(t.Closing), nil
}
