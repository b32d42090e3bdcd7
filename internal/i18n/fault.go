package i18n

import "github.com/gpunex/gpunex/internal/fault"

// Fault is the sentence of a fault in this language. A code that the catalogue doesn't know falls back to the fault's
// own English text: a person should rather read English than nothing.
func (l *Locale) Fault(f *fault.Fault) string {
	t, ok := l.M.Faults[f.Code]
	if !ok {
		t = Tmpl(f.Text)
	}
	var args []string
	for k, v := range f.Args {
		args = append(args, k, v)
	}
	return t.F(args...)
}

// Code is the word for a value of one of the platform's closed sets, as in Code(l.M.States, "running"). A value
// without a word is shown as it is.
func (l *Locale) Code(m map[string]Tmpl, code string, args ...string) string {
	if t, ok := m[code]; ok {
		return t.F(args...)
	}
	return code
}
