package money

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]struct {
		micro Micro
		err   error
	}{
		"2,19":                               {2_190_000, nil},
		"2.19":                               {2_190_000, nil},
		" 2 ":                                {2_000_000, nil},
		".5":                                 {500_000, nil},
		",5":                                 {500_000, nil},
		"5.":                                 {5_000_000, nil},
		"0":                                  {0, nil},
		"007":                                {7_000_000, nil},
		"0.000001":                           {1, nil},
		"0.0000010":                          {1, nil},
		"9223372036854.775807":               {math.MaxInt64, nil},
		"":                                   {0, ErrEmpty},
		"   ":                                {0, ErrEmpty},
		"abc":                                {0, ErrNotPlain},
		"1e3":                                {0, ErrNotPlain},
		"-1":                                 {0, ErrNotPlain},
		"+1":                                 {0, ErrNotPlain},
		"NaN":                                {0, ErrNotPlain},
		"Inf":                                {0, ErrNotPlain},
		"0x10":                               {0, ErrNotPlain},
		"1_000":                              {0, ErrNotPlain},
		"1 000":                              {0, ErrNotPlain},
		"$5":                                 {0, ErrNotPlain},
		"1,234.5":                            {0, ErrNotPlain},
		"1.234,5":                            {0, ErrNotPlain},
		"1.2.3":                              {0, ErrNotPlain},
		".":                                  {0, ErrNotPlain},
		",":                                  {0, ErrNotPlain},
		"٣":                                  {0, ErrNotPlain}, // a digit, in Arabic
		"0.0000001":                          {0, ErrDecimals},
		"1.23456789":                         {0, ErrDecimals},
		"9223372036854.775808":               {0, ErrOverflow},
		"99999999999999":                     {0, ErrOverflow},
		strings.Repeat("9", 40):              {0, ErrOverflow},
		strings.Repeat("0", 40) + "1":        {1_000_000, nil},
		"1." + strings.Repeat("0", 40):       {1_000_000, nil},
		"1." + strings.Repeat("0", 40) + "1": {0, ErrDecimals},
		strings.Repeat("9", 40) + ".0000001": {0, ErrDecimals},
		"1." + strings.Repeat("0", 5) + "1" + "x": {0, ErrNotPlain},
	} {
		got, err := Parse(in)
		if got != want.micro || !errors.Is(err, want.err) || (want.err == nil) != (err == nil) {
			t.Errorf("Parse(%q): got %d, %v; want %d, %v", in, got, err, want.micro, want.err)
		}
	}
}

func TestString(t *testing.T) {
	for in, want := range map[Micro]string{
		0: "0.000000", 1: "0.000001", -1: "-0.000001", 2_190_000: "2.190000", -2_190_000: "-2.190000",
		math.MaxInt64: "9223372036854.775807", math.MinInt64: "-9223372036854.775808",
	} {
		if got := in.String(); got != want {
			t.Errorf("%d: got %s, want %s", int64(in), got, want)
		}
	}
}

func TestStringParsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Micro(rapid.Int64Min(0).Draw(t, "micro"))
		for _, s := range []string{want.String(), strings.Replace(want.String(), ".", ",", 1), " " + strings.TrimRight(want.String(), "0") + " "} {
			if got, err := Parse(s); err != nil || got != want {
				t.Fatalf("Parse(%q): got %d, %v; want %d", s, got, err, want)
			}
		}
	})
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Micro(rapid.Int64().Draw(t, "micro"))
		b, err := json.Marshal(map[string]Micro{"a": want})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]Micro
		if err := json.Unmarshal(b, &got); err != nil || got["a"] != want {
			t.Fatalf("%s: got %d, %v; want %d", b, got["a"], err, want)
		}
	})
	for _, in := range []string{`1.5`, `"--1"`, `"- 1"`, `"-+1"`, `""`, `"-"`, `null1`, `{}`, `"1e3"`, `"-9223372036854.775809"`} {
		var m Micro
		if err := json.Unmarshal([]byte(in), &m); err == nil {
			t.Errorf("%s: got %d and no error", in, m)
		}
	}
}

func TestAddAndSubSayOverflow(t *testing.T) {
	edge := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := edge.Draw(t, "a"), edge.Draw(t, "b")
		for name, c := range map[string]struct {
			exact *big.Int
			f     func(Micro) (Micro, error)
		}{
			"add": {new(big.Int).Add(big.NewInt(a), big.NewInt(b)), Micro(a).Add},
			"sub": {new(big.Int).Sub(big.NewInt(a), big.NewInt(b)), Micro(a).Sub},
		} {
			got, err := c.f(Micro(b))
			if c.exact.IsInt64() != (err == nil) || (err == nil && int64(got) != c.exact.Int64()) {
				t.Fatalf("%s %d %d: got %d, %v; want %s", name, a, b, got, err, c.exact)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"2,19", "2.19", "abc", "1e3", "-1", "0.0000001", "NaN", strings.Repeat("9", 40), "1,234.5", "", " 2 ", ".5", "5."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Parse(s)
		if err != nil {
			if got != 0 {
				t.Errorf("Parse(%q): an error and %d", s, got)
			}
			return
		}
		plain := strings.Replace(strings.TrimSpace(s), ",", ".", 1)
		if strings.HasSuffix(plain, ".") {
			plain += "0"
		}
		exact, ok := new(big.Rat).SetString("0" + plain)
		if !ok {
			t.Fatalf("Parse(%q): got %d for what is no number", s, got)
		}
		if exact.Mul(exact, big.NewRat(int64(USDC), 1)).Cmp(big.NewRat(int64(got), 1)) != 0 {
			t.Errorf("Parse(%q): got %d, want %s", s, got, exact)
		}
	})
}

func FuzzMulDiv(f *testing.F) {
	f.Add(int64(2_190_000), int64(3_600_000), int64(3_600_000))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64))
	f.Add(int64(math.MaxInt64), int64(2), int64(1))
	f.Add(int64(1), int64(1), int64(0))
	f.Add(int64(-1), int64(1), int64(1))
	f.Fuzz(func(t *testing.T, a, b, c int64) {
		got, err := MulDiv(a, b, c)
		if a < 0 || b < 0 || c <= 0 {
			if err == nil {
				t.Errorf("MulDiv(%d, %d, %d): got %d and no error", a, b, c, got)
			}
			return
		}
		exact := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		exact.Quo(exact, big.NewInt(c))
		if exact.IsInt64() != (err == nil) || (err == nil && got != exact.Int64()) || (err != nil && !errors.Is(err, ErrOverflow)) {
			t.Errorf("MulDiv(%d, %d, %d): got %d, %v; want %s", a, b, c, got, err, exact)
		}
	})
}
