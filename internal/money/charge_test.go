package money

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// Posting differences of the cumulative charge gives the same bill however the time is cut.
func TestChunkingNeverChangesTheBill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := Micro(rapid.Int64Range(0, 100_000_000).Draw(t, "rate"))
		gpus := rapid.IntRange(1, 64).Draw(t, "gpus")
		bps := rapid.IntRange(0, 10_000).Draw(t, "bps")
		cuts := rapid.SliceOfN(rapid.Int64Range(0, 4_000_000), 1, 200).Draw(t, "cuts")
		var ms int64
		var charge, fee, provider, billed, taken Micro
		for _, c := range cuts {
			ms += c
			total, err := Charge(rate, gpus, ms)
			if err != nil {
				t.Fatal(err)
			}
			part, err := Fee(total, bps)
			if err != nil {
				t.Fatal(err)
			}
			dc, df := total-billed, part-taken
			if dc < 0 || df < 0 || df > dc {
				t.Fatalf("after %d ms: charge %d more, fee %d more", ms, dc, df)
			}
			charge, fee, provider = charge+dc, fee+df, provider+dc-df
			billed, taken = total, part
		}
		exact := new(big.Int).Mul(big.NewInt(int64(rate)*int64(gpus)), big.NewInt(ms))
		exact.Quo(exact, big.NewInt(3_600_000))
		if !exact.IsInt64() || int64(charge) != exact.Int64() {
			t.Fatalf("charged %d, want %s", charge, exact)
		}
		if provider+fee != charge {
			t.Fatalf("provider %d + fee %d isn't charge %d", provider, fee, charge)
		}
	})
}

func TestAffordsIsTheExactBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		funds := Micro(rapid.Int64Range(-5, 10_000_000_000).Draw(t, "funds"))
		rate := Micro(rapid.Int64Range(0, 1_000_000_000).Draw(t, "rate"))
		gpus := rapid.IntRange(0, 64).Draw(t, "gpus")
		ms, limited, err := Affords(funds, rate, gpus)
		if err != nil {
			t.Fatal(err)
		}
		if free := rate == 0 || gpus == 0; free == limited {
			t.Fatalf("free %v and limited %v", free, limited)
		}
		if !limited {
			return
		}
		if funds < 0 {
			if ms != 0 {
				t.Fatalf("a debt pays %d ms", ms)
			}
			return
		}
		for at, affordable := range map[int64]bool{ms: true, ms + 1: false} {
			c, err := Charge(rate, gpus, at)
			if err != nil {
				t.Fatal(err)
			}
			if (c <= funds) != affordable {
				t.Fatalf("%d ms cost %d of %d; the bound is %d", at, c, funds, ms)
			}
		}
	})
}

func TestChargeRefusesNegativesAndOverflow(t *testing.T) {
	for name, f := range map[string]func() (Micro, error){
		"negative rate": func() (Micro, error) { return Charge(-1, 1, 1) },
		"negative gpus": func() (Micro, error) { return Charge(1, -1, 1) },
		"negative time": func() (Micro, error) { return Charge(1, 1, -1) },
		"overflow":      func() (Micro, error) { return Charge(1<<62, 2, 1) },
		"negative fee":  func() (Micro, error) { return Fee(-1, 1000) },
	} {
		if got, err := f(); err == nil {
			t.Errorf("%s: got %d and no error", name, got)
		}
	}
}

var sink Micro

func BenchmarkCharge(b *testing.B) {
	b.ReportAllocs()
	ms := int64(0)
	for b.Loop() {
		ms += 300_000
		c, err := Charge(2_490_000, 8, ms&0xfffffffff)
		if err != nil {
			b.Fatal(err)
		}
		fee, err := Fee(c, 1000)
		if err != nil {
			b.Fatal(err)
		}
		sink = c - fee
	}
}
