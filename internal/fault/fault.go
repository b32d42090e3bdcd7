// Package fault holds the errors that are meant for people: what kind of mistake it was, a stable code that catalogues
// translate, and the values the sentence needs. Everything else that goes wrong is a plain wrapped error, and a person
// sees only that it went wrong.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kind says what sort of mistake it was; edges map it to a status.
type Kind string

// The kinds.
const (
	Invalid     Kind = "invalid"     // the request can't mean anything: fix it and send it again
	NotFound    Kind = "not_found"   // no such thing, or not yours
	Conflict    Kind = "conflict"    // it was fine, but something else happened first
	Forbidden   Kind = "forbidden"   // you may not
	Unsigned    Kind = "unsigned"    // sign in first
	Funds       Kind = "funds"       // not enough money
	Unavailable Kind = "unavailable" // try again later
)

// Fault is an error for people.
type Fault struct {
	Kind Kind
	// Code is stable and unique for one sentence, as in "price_not_a_number".
	Code string
	// Text is the sentence in English; it says what to do.
	Text string
	// Args are the values of the sentence, by name.
	Args map[string]string
	// Fields holds a fault for each field of a form, by the field's name.
	Fields map[string]*Fault
}

// New makes a fault. Args come in pairs: name, value.
func New(k Kind, code, text string, args ...string) *Fault {
	f := &Fault{Kind: k, Code: code, Text: text}
	for i := 0; i+1 < len(args); i += 2 {
		if f.Args == nil {
			f.Args = map[string]string{}
		}
		f.Args[args[i]] = args[i+1]
	}
	return f
}

// Error is the English sentence, with the fields' sentences behind it.
func (f *Fault) Error() string {
	var pairs []string
	for k, v := range f.Args {
		pairs = append(pairs, "{"+k+"}", v)
	}
	s := strings.NewReplacer(pairs...).Replace(f.Text) // in one pass: a value may look like a name
	for _, name := range slices.Sorted(maps.Keys(f.Fields)) {
		s += fmt.Sprintf("; %s: %s", name, f.Fields[name].Error())
	}
	return s
}

// As finds the fault in an error's chain.
func As(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}

// Is says whether an error's chain holds a fault with this code.
func Is(err error, code string) bool {
	f, ok := As(err)
	return ok && f.Code == code
}

// Form collects the faults of a form's fields, so that a person sees all of them at once.
type Form map[string]*Fault

// Add records what is wrong with a field; the first fault of a field stays.
func (m Form) Add(field, code, text string, args ...string) {
	if _, ok := m[field]; !ok {
		m[field] = New(Invalid, code, text, args...)
	}
}

// Err is nil when nothing was added.
func (m Form) Err() error {
	if len(m) == 0 {
		return nil
	}
	return &Fault{Kind: Invalid, Code: "form", Text: "Some fields need your attention", Fields: m}
}
