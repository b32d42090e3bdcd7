package i18n

import (
	"embed"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

//go:embed locales/*.toml
var files embed.FS

// Tmpl is a message with {name} placeholders.
type Tmpl string

// F fills the placeholders; args are name, value pairs, values already formatted.
func (t Tmpl) F(args ...string) string {
	s := string(t)
	for i := 0; i+1 < len(args); i += 2 {
		s = strings.ReplaceAll(s, "{"+args[i]+"}", args[i+1])
	}
	return s
}

// Plural is a message with one form per CLDR cardinal category that our languages use. {n} is the formatted number.
type Plural struct {
	One   string `toml:"one"`
	Many  string `toml:"many"`
	Other string `toml:"other"`
}

// Locale is one interface language, immutable after Load and safe to share.
type Locale struct {
	Tag  string // BCP 47, also the html lang attribute
	Path string // URL segment, and the language code that the rest of the platform stores
	Name string // endonym
	M    Messages
	// Countries are in this language's order.
	Countries []Country

	tag   language.Tag
	nums  numbers
	dates dates
}

// Catalog holds all languages.
type Catalog struct {
	All     []*Locale // English first
	matcher language.Matcher
}

// Load reads the embedded catalogue and checks that every language is complete.
func Load() (*Catalog, error) {
	c := &Catalog{}
	var tags []language.Tag
	var errs []error
	for _, d := range []struct{ tag, path, name string }{
		{"en", "en", "English"}, {"pt-PT", "pt", "Português"}, {"fr", "fr", "Français"}, {"de", "de", "Deutsch"},
	} {
		l := &Locale{Tag: d.tag, Path: d.path, Name: d.name, tag: language.MustParse(d.tag), nums: numbersOf(d.tag), dates: datesOf(d.tag)}
		errs = append(errs, l.load())
		l.Countries = l.countries()
		c.All = append(c.All, l)
		tags = append(tags, l.tag)
	}
	c.matcher = language.NewMatcher(tags)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, l := range c.All[1:] {
		errs = append(errs, sameKeys(c.All[0], l))
	}
	return c, errors.Join(errs...)
}

// ByPath finds a language by its URL segment.
func (c *Catalog) ByPath(p string) (*Locale, bool) {
	for _, l := range c.All {
		if l.Path == p {
			return l, true
		}
	}
	return nil, false
}

// Match picks the best language for an Accept-Language header; English when nothing fits.
func (c *Catalog) Match(header string) *Locale {
	tags, _, err := language.ParseAcceptLanguage(header)
	if err != nil {
		return c.All[0]
	}
	_, i, _ := c.matcher.Match(tags...)
	return c.All[i]
}

func (l *Locale) load() error {
	b, err := files.ReadFile("locales/" + l.Tag + ".toml")
	if err != nil {
		return err
	}
	md, err := toml.Decode(string(b), &l.M)
	if err != nil {
		return fmt.Errorf("%s: %w", l.Tag, err)
	}
	if u := md.Undecoded(); len(u) > 0 {
		return fmt.Errorf("%s: unknown keys %v", l.Tag, u)
	}
	return l.check()
}

// check finds empty messages and plural forms that the language needs.
func (l *Locale) check() error {
	var missing []string
	walk(reflect.ValueOf(&l.M).Elem(), "", func(key string, v any) {
		switch m := v.(type) {
		case string:
			if m == "" {
				missing = append(missing, key)
			}
		case Tmpl:
			if m == "" {
				missing = append(missing, key)
			}
		case Plural:
			if m.One == "" || m.Other == "" || (hasMany(l.Tag) && m.Many == "") {
				missing = append(missing, key)
			}
		}
	})
	if missing != nil {
		return fmt.Errorf("%s: missing %s", l.Tag, strings.Join(missing, ", "))
	}
	return nil
}

// sameKeys compares what structs can't: the keys of maps.
func sameKeys(ref, l *Locale) error {
	keys := func(l *Locale) map[string]bool {
		m := map[string]bool{}
		walk(reflect.ValueOf(&l.M).Elem(), "", func(k string, _ any) { m[k] = true })
		return m
	}
	a, b := keys(ref), keys(l)
	var bad []string
	for k := range a {
		if !b[k] {
			bad = append(bad, "no "+k)
		}
	}
	for k := range b {
		if !a[k] {
			bad = append(bad, "unknown "+k)
		}
	}
	if bad != nil {
		return fmt.Errorf("%s: %s", l.Tag, strings.Join(bad, ", "))
	}
	return nil
}

func hasMany(tag string) bool { return tag == "fr" || tag == "pt-PT" }

// placeholders lists the {names} of a message.
func placeholders(s string) []string { return regexp.MustCompile(`\{[a-z_]+\}`).FindAllString(s, -1) }

func walk(v reflect.Value, key string, f func(string, any)) {
	switch x := v.Interface().(type) {
	case string, Tmpl, Plural:
		f(key, x)
		return
	case map[string]Tmpl:
		for k, t := range x {
			f(key+"."+k, t)
		}
		return
	}
	for i := range v.NumField() {
		walk(v.Field(i), strings.TrimPrefix(key+"."+v.Type().Field(i).Name, "."), f)
	}
}

// N picks the plural form for n and fills {n}.
func (l *Locale) N(p Plural, n int) string {
	s := p.Other
	switch l.category(n) {
	case plural.One:
		s = p.One
	case plural.Many:
		s = p.Many
	}
	return strings.ReplaceAll(s, "{n}", l.Int(int64(n)))
}

// category follows CLDR 48. x/text still has CLDR 32, which lacks the "many" category of French and Portuguese, so
// that one is decided here.
func (l *Locale) category(n int) plural.Form {
	if n != 0 && n%1_000_000 == 0 && hasMany(l.Tag) {
		return plural.Many
	}
	return plural.Cardinal.MatchPlural(l.tag, n, 0, 0, 0, 0)
}
