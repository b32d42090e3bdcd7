package notice

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// kinds are the notices that the platform promises.
var kinds = []string{
	"application.submitted", "application.information_requested", "application.approved", "application.rejected", "application.withdrawn",
	"gpu.withdrawn", "gpu.listed_again", "benchmark.passed", "host.offline", "host.online", "rental.warned", "rental.ended",
	"payout.paid", "payout.returned", "low_balance",
}

func TestTextsAreComplete(t *testing.T) {
	all, err := loadTexts() // compares the languages
	if err != nil {
		t.Fatal(err)
	}
	for l, texts := range all {
		for _, k := range kinds {
			if n := texts.Notices[k]; n.Subject == "" || n.Body == "" {
				t.Errorf("%s has no text for %s", l, k)
			}
		}
		for k, n := range texts.Notices {
			if !slices.Contains(kinds, k) {
				t.Errorf("%s has a text for %s, which nobody promises", l, k)
			}
			for _, line := range strings.Split(n.Body, "\n") {
				if strings.TrimRight(line, " \t") != line {
					t.Errorf("%s %s: a line ends in space: %q", l, k, line)
				}
			}
		}
	}
}

// TestLabels holds the texts to the names that the pages and the guides use.
func TestLabels(t *testing.T) {
	all, err := loadTexts()
	if err != nil {
		t.Fatal(err)
	}
	for kind, labels := range map[string][4]string{
		"application.approved":              {"Provider Dashboard", "Painel do Fornecedor", "Tableau de bord Fournisseur", "Anbieter-Dashboard"},
		"application.information_requested": {"Submit", "Submeter", "Soumettre", "Absenden"},
		"application.submitted":             {"Roles", "Funções", "Rôles", "Rollen"},
		"gpu.withdrawn":                     {"Benchmarks", "Benchmarks", "Benchmarks", "Benchmarks"},
		"gpu.listed_again":                  {"Performance score", "Pontuação de desempenho", "Score de performance", "Leistungswert"},
		"host.online":                       {"Online", "Online", "En ligne", "Online"},
		"payout.paid":                       {"Payouts", "Pagamentos", "Paiements", "Auszahlungen"},
	} {
		for i, l := range locales {
			if !strings.Contains(all[l].Notices[kind].Body, labels[i]) {
				t.Errorf("%s %s doesn't name %q", l, kind, labels[i])
			}
		}
	}
	for l, tiers := range map[string][2]string{
		"en": {"Enterprise Tier", "Community Tier"}, "pt-PT": {"Nível Enterprise", "Nível Comunidade"},
		"fr": {"Niveau Enterprise", "Niveau Community"}, "de": {"Enterprise Stufe", "Community Stufe"},
	} {
		if w := all[l].Words["tier"]; w["enterprise"] != tiers[0] || w["community"] != tiers[1] {
			t.Errorf("%s calls the tiers %v", l, w)
		}
	}
}

func TestCompare(t *testing.T) {
	ref := texts{Notices: map[string]text{"a": {Subject: "{x}", Body: "{x} {y}"}}, Words: map[string]map[string]string{"tier": {"e": "E"}}}
	for want, bad := range map[string]texts{
		"kinds":         {Words: ref.Words},
		"a subject":     {Notices: map[string]text{"a": {Subject: "x", Body: "{y} {x}"}}, Words: ref.Words},
		"a body":        {Notices: map[string]text{"a": {Subject: "{x}", Body: "{x} {z}"}}, Words: ref.Words},
		"words of tier": {Notices: ref.Notices, Words: map[string]map[string]string{"tier": {}}},
	} {
		if err := compare("de", ref, bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	if err := compare("de", ref, texts{Notices: map[string]text{"a": {Subject: "{x}", Body: "{y} {x}"}}, Words: ref.Words}); err != nil {
		t.Error(err)
	}
}

// Whatever people type stays text: it fills no placeholder and begins no second line of a subject.
func TestRenderProperties(t *testing.T) {
	s := New(nil, nil, "https://gpunex.example")
	rapid.Check(t, func(t *rapid.T) {
		typed := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"{token}", "{base}", "a\r\nBcc: b", ""})).Draw(t, "typed")
		n := Notice{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Locale: rapid.SampledFrom(append([]string{"", "xx"}, locales...)).Draw(t, "locale"),
			Data: map[string]string{"name": typed, "question": typed, "reason": typed, "host": typed, "gpu": typed, "model": typed, "token": "gpx_secret"},
		}
		subject, body, err := s.render(n)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(subject, "\r\n") || subject == "" {
			t.Fatalf("subject %q", subject)
		}
		if n.Kind != "application.approved" && strings.Contains(body, "gpx_secret") {
			t.Fatalf("a typed placeholder was filled:\n%s", body)
		}
		if !strings.Contains(body, "https://gpunex.example\n") {
			t.Fatalf("no address:\n%s", body)
		}
	})
}

func TestMissingValueIsADash(t *testing.T) {
	s := New(nil, nil, "https://gpunex.example")
	_, body, err := s.render(Notice{Kind: "host.offline", Locale: "de", Data: map[string]string{"host": "h1"}})
	if err != nil || !strings.HasPrefix(body, "Guten Tag,\n\nWir haben seit – nichts von Ihrem Host h1 gehört.") {
		t.Errorf("%v\n%s", err, body)
	}
}
