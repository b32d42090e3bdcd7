package i18n

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/text/feature/plural"

	"github.com/gpunex/gpunex/internal/money"
)

func load(t *testing.T) *Catalog {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestICU(t *testing.T) {
	cat := load(t)
	b, err := os.ReadFile("testdata/icu.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ L, K, V, W string }
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	forms := map[plural.Form]string{plural.One: "one", plural.Many: "many", plural.Other: "other"}
	for _, c := range cases {
		i := slices.IndexFunc(cat.All, func(l *Locale) bool { return l.Tag == c.L })
		l := cat.All[i]
		n, _ := strconv.ParseInt(c.V, 10, 64)
		f, _ := strconv.ParseFloat(c.V, 64)
		d, _ := time.Parse(time.DateOnly, c.V)
		var got string
		switch c.K {
		case "int":
			got = l.Int(n)
		case "usdc":
			got = l.USDC(money.Micro(n))
		case "pct":
			got = l.Pct(f, 1)
		case "plural":
			got = forms[l.category(int(n))]
		case "date":
			got = l.Date(d)
		case "long":
			got = l.DateLong(d)
		case "weekday":
			got = l.Weekday(int(n))
		}
		if got != c.W {
			t.Errorf("%s %s(%s) = %q, ICU says %q", c.L, c.K, c.V, got, c.W)
		}
	}
	t.Logf("%d golden values", len(cases))
}

func TestSamePlaceholders(t *testing.T) {
	ref := map[string][]string{}
	for _, l := range load(t).All {
		walk(reflect.ValueOf(&l.M).Elem(), "", func(k string, v any) {
			var s string
			switch m := v.(type) {
			case Tmpl:
				s = string(m)
			case Plural:
				s = m.Other
			case string:
				s = m
			}
			p := placeholders(s)
			slices.Sort(p)
			if l.Tag == "en" {
				ref[k] = p
			} else if !slices.Equal(p, ref[k]) {
				t.Errorf("%s %s: placeholders %v, en has %v", l.Tag, k, p, ref[k])
			}
		})
	}
}

func TestMatch(t *testing.T) {
	c := load(t)
	for header, want := range map[string]string{"": "en", "pt-BR,pt;q=0.9": "pt", "de-AT": "de", "fr-CA,en;q=0.5": "fr", "ja": "en", "%%%": "en"} {
		if got := c.Match(header).Path; got != want {
			t.Errorf("Match(%q) = %s, want %s", header, got, want)
		}
	}
}

func TestCountries(t *testing.T) {
	for _, l := range load(t).All {
		if n := len(l.Countries); n < 245 || n > 252 {
			t.Errorf("%s: %d countries", l.Tag, n)
		}
	}
	de := load(t).All[3]
	i := slices.IndexFunc(de.Countries, func(c Country) bool { return c.Code == "AT" })
	if i < 0 || de.Countries[i].Name != "Österreich" {
		t.Error("Austria has no German name")
	}
}

func TestSmall(t *testing.T) {
	pt, ok := load(t).ByPath("pt")
	if !ok {
		t.Fatal("no Portuguese")
	}
	for m, want := range map[money.Micro]string{0: "0,00", 1: "0,000001", 4_097: "0,004097", -4_097: "-0,004097", 9_999: "0,009999", 10_000: "0,01", 14_999: "0,01", 15_000: "0,02"} {
		if got := pt.USDC2(m); got != want {
			t.Errorf("USDC2(%d) = %q, want %q", m, got, want)
		}
	}
	for ms, want := range map[int64]string{0: "0\u00a0s", 8_400: "8\u00a0s", 59_600: "1\u00a0min", 12 * 60_000: "12\u00a0min", 3_600_000: "1,00\u00a0h", 4_500_000: "1,25\u00a0h"} {
		if got := pt.Duration(ms); got != want {
			t.Errorf("Duration(%d) = %q, want %q", ms, got, want)
		}
	}
}
