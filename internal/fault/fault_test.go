package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gpunex/gpunex/internal/fault"
)

func TestErrorFillsInTheValues(t *testing.T) {
	f := fault.New(fault.Invalid, "amount_range", "Give between {from} and {to}, not {from}", "from", "1", "to", "5")
	if got := f.Error(); got != "Give between 1 and 5, not 1" {
		t.Errorf("got %q", got)
	}
	if odd := fault.New(fault.Invalid, "x", "text {a}", "a"); odd.Error() != "text {a}" {
		t.Errorf("a name without a value: got %q", odd.Error())
	}
}

// A value isn't a template: what a person typed is shown as it was typed, whatever the order of the values.
func TestValuesAreNotTemplates(t *testing.T) {
	for range 50 { // maps have no order
		f := fault.New(fault.Invalid, "x", "{a} and {b}", "a", "{b}", "b", "{a}")
		if got := f.Error(); got != "{b} and {a}" {
			t.Fatalf("got %q", got)
		}
	}
}

func TestAsAndIsSeeThroughWrapping(t *testing.T) {
	f := fault.New(fault.NotFound, "rental_unknown", "No such rental")
	err := fmt.Errorf("web: %w", fmt.Errorf("rental: %w", f))
	if got, ok := fault.As(err); !ok || got != f {
		t.Errorf("got %v, %v", got, ok)
	}
	if !fault.Is(err, "rental_unknown") || fault.Is(err, "other") || fault.Is(errors.New("plain"), "rental_unknown") || fault.Is(nil, "") {
		t.Error("Is finds the wrong ones")
	}
}

func TestForm(t *testing.T) {
	form := fault.Form{}
	if err := form.Err(); err != nil {
		t.Errorf("an empty form: got %v", err)
	}
	form.Add("b", "first", "First of {what}", "what", "b")
	form.Add("b", "second", "Second")
	form.Add("a", "third", "Third")
	err := form.Err()
	f, ok := fault.As(err)
	if !ok || f.Kind != fault.Invalid || f.Code != "form" || len(f.Fields) != 2 || f.Fields["b"].Code != "first" {
		t.Fatalf("got %+v", f)
	}
	if got := err.Error(); got != "Some fields need your attention; a: Third; b: First of b" {
		t.Errorf("got %q", got)
	}
}
