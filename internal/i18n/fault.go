package i18n

import (
	"regexp"

	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/money"
)

// Fault is the sentence of a fault in this language. A code that the catalogue doesn't know falls back to the fault's
// own English text: a person should rather read English than nothing.
func (l *Locale) Fault(f *fault.Fault) string {
	t, ok := l.M.Faults[f.Code]
	if !ok {
		t = Tmpl(f.Text)
	}
	var args []string
	for k, v := range f.Args {
		args = append(args, k, l.arg(v))
	}
	return t.F(args...)
}

// arg writes an amount, which faults carry as money.Micro writes it, in this language's format.
func (l *Locale) arg(s string) string {
	if !regexp.MustCompile(`^\d+\.\d{6}$`).MatchString(s) {
		return s
	}
	m, err := money.Parse(s)
	if err != nil {
		return s
	}
	return l.Rate(m)
}

// Code is the word for a value of one of the platform's closed sets, as in Code(l.M.RentalStates, "running"). A value
// without a word is shown as it is.
func (l *Locale) Code(m map[string]Tmpl, code string, args ...string) string {
	if t, ok := m[code]; ok {
		return t.F(args...)
	}
	return code
}
