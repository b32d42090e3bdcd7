package i18n

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpunex/gpunex/internal/fault"
)

// TestEveryFaultIsTranslated finds the codes in the source, with their English text: the catalogue must have each of
// them, with the same placeholders.
func TestEveryFaultIsTranslated(t *testing.T) {
	en := load(t).All[0] // Load compares the keys of the other languages
	call := regexp.MustCompile(`(?:fault\.New\([\w.]+,|\.Add\([^,\n]+,|\binvalid\()\s*"([a-z0-9_]+)",\s*"((?:[^"\\]|\\.)*)"`)
	n := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile("../" + path)
		if err != nil {
			return err
		}
		for _, m := range call.FindAllStringSubmatch(string(b), -1) {
			n++
			text, ok := en.M.Faults[m[1]]
			if !ok {
				t.Errorf("%s: fault %q (%s) has no translation", path, m[1], m[2])
				continue
			}
			want, got := placeholders(m[2]), placeholders(string(text))
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: fault %q has placeholders %v, the catalogue %v", path, m[1], want, got)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 10 {
		t.Errorf("found only %d faults: does the expression still fit the source?", n)
	}
}

func TestFault(t *testing.T) {
	c := load(t)
	de := c.All[3]
	if got := de.Fault(fault.New(fault.Invalid, "number_invalid", "Enter a whole number.")); got != "Geben Sie eine ganze Zahl ein." {
		t.Error(got)
	}
	if got := de.Fault(fault.New(fault.Invalid, "never_heard_of", "Needs {need} USDC.", "need", "1234.500000")); got != "Needs 1.234,50 USDC." {
		t.Errorf("fallback = %q", got)
	}
}
