package i18n

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// later are names of the provider guides whose pages aren't built yet.
func later() map[string]bool {
	return map[string]bool{
		"Performance": true, "Reliability score": true, "Uptime monitoring": true, "Job completion rate": true, "Benchmark consistency": true,
		"Availability schedule": true, "USDC on Solana": true, "Bank transfer": true,
	}
}

// TestGuideLabels holds the catalogue to the names that the provider guides use: a person who follows one word by word
// must find them.
func TestGuideLabels(t *testing.T) {
	b, err := os.ReadFile("testdata/guide.tsv")
	if err != nil {
		t.Fatal(err)
	}
	all := load(t).All
	var texts []map[string]string // by key, for each language
	for _, l := range all {
		m := map[string]string{}
		walk(reflect.ValueOf(&l.M).Elem(), "", func(k string, v any) {
			switch x := v.(type) {
			case string:
				m[k] = x
			case Tmpl:
				m[k] = string(x)
			}
		})
		texts = append(texts, m)
	}
	for line := range strings.Lines(string(b)) {
		want := strings.Split(strings.TrimRight(line, "\n"), "\t")[1:] // the first column is the kind
		if strings.HasPrefix(want[0], "3 / 6 / 12") {
			continue // three choices, a plural
		}
		if !found(texts, want) && !later()[want[0]] {
			t.Errorf("no key has the texts %q", want)
		}
	}
}

// found says whether some key has the wanted text in every language; a figure may add what it is of after a comma.
func found(texts []map[string]string, want []string) bool {
	for key := range texts[0] {
		all := true
		for i, m := range texts {
			all = all && (strings.EqualFold(m[key], want[i]) || strings.HasPrefix(m[key], want[i]+", "))
		}
		if all {
			return true
		}
	}
	return false
}
