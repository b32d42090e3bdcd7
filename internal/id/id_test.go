package id_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpunex/gpunex/internal/id"
)

var kinds = []id.Kind{id.Person, id.Account, id.Application, id.Token, id.Host, id.GPU, id.Run, id.Quote, id.Rental, id.Txn, id.PayoutRun, id.Payout, id.Mail}

func TestNewIsValidForItsKindOnly(t *testing.T) {
	for _, k := range kinds {
		s := id.New(k)
		if !strings.HasPrefix(s, string(k)+"_") {
			t.Errorf("%s: got %s", k, s)
		}
		for _, other := range kinds {
			if got := id.Valid(other, s); got != (k == other) {
				t.Errorf("Valid(%s, %s): got %v", other, s, got)
			}
		}
	}
}

func TestNewSortsByTimeAndNeverRepeats(t *testing.T) {
	var made []string
	seen := map[string]bool{}
	for range 2000 {
		s := id.New(id.Rental)
		if seen[s] {
			t.Fatalf("%s was made twice", s)
		}
		seen[s] = true
		made = append(made, s[:len("rnt_")+9]) // the part that is the time, to the millisecond
	}
	if !slices.IsSorted(made) {
		t.Error("later identifiers sort before earlier ones")
	}
}

func TestValidRefuses(t *testing.T) {
	for _, s := range []string{"", "rnt", "rnt_", "rnt_x", "01h455vb4pex5vsknk084sn02q", "rnt_01h455vb4pex5vsknk084sn02", "RNT_01h455vb4pex5vsknk084sn02q",
		"rnt_01H455VB4PEX5VSKNK084SN02Q", "rnt_01h455vb4pex5vsknk084sn02q ", "rnt_81h455vb4pex5vsknk084sn02q", "rnt_01h455vb4pex5vsknk084sn02l", "rnt_../../etc/passwd"} {
		if id.Valid(id.Rental, s) {
			t.Errorf("%q is taken for a rental", s)
		}
	}
}

func FuzzValid(f *testing.F) {
	f.Add("rnt_01h455vb4pex5vsknk084sn02q")
	f.Fuzz(func(t *testing.T, s string) {
		if id.Valid(id.Rental, s) && (len(s) != 30 || !strings.HasPrefix(s, "rnt_") || strings.ToLower(s) != s) {
			t.Errorf("%q is taken for a rental", s)
		}
	})
}
