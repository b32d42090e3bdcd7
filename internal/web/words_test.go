package web

import (
	"maps"
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	for in, want := range map[string][]string{
		"":                              nil,
		"  python  train.py ":           {"python", "train.py"},
		`sh -c 'echo "$HOME"; sleep 1'`: {"sh", "-c", `echo "$HOME"; sleep 1`},
		`a "b \"c\" \n" d\ e`:           {"a", `b "c" \n`, "d e"},
		`'' ""`:                         {"", ""},
		`x"y"z`:                         {"xyz"},
	} {
		got, err := words(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("words(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{`"open`, `'open`, `end\`} {
		if got, err := words(in); err == nil {
			t.Errorf("words(%q) = %q, want an error", in, got)
		}
	}
}

func TestEnvironment(t *testing.T) {
	got, err := environment("A=1\r\n\n B = x=y \nEMPTY=\n")
	if want := map[string]string{"A": "1", "B": " x=y ", "EMPTY": ""}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for _, in := range []string{"A", "=1", "A B=1"} {
		if _, err := environment(in); err == nil {
			t.Errorf("environment(%q) passes", in)
		}
	}
}
