package money

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Micro is an amount in micro-USDC (10⁻⁶ USDC). One USDC is 1,000,000.
type Micro int64

// USDC is one whole USDC.
const USDC Micro = 1_000_000

// Decimals is how many digits follow the point: those of the USDC mint on Solana.
const Decimals = 6

// ErrOverflow says that a result doesn't fit in 64 bits.
var ErrOverflow = errors.New("money: amount out of range")

// Add returns a + b.
func (a Micro) Add(b Micro) (Micro, error) {
	c := a + b
	if (c > a) != (b > 0) && b != 0 {
		return 0, ErrOverflow
	}
	return c, nil
}

// Sub returns a − b.
func (a Micro) Sub(b Micro) (Micro, error) {
	c := a - b
	if (c < a) != (b > 0) && b != 0 {
		return 0, ErrOverflow
	}
	return c, nil
}

// MulDiv returns floor(a × b ÷ c) with a 128-bit product. All three must not be negative, and c not zero.
func MulDiv(a, b, c int64) (int64, error) {
	if a < 0 || b < 0 || c <= 0 {
		return 0, fmt.Errorf("money: MulDiv(%d, %d, %d): arguments must not be negative, the divisor not zero", a, b, c)
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return 0, ErrOverflow
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	if q > math.MaxInt64 {
		return 0, ErrOverflow
	}
	return int64(q), nil
}

// String is the amount in USDC with exactly six decimals and a point, as in "2.190000".
func (a Micro) String() string {
	sign, u := "", uint64(a)
	if a < 0 {
		sign, u = "-", -u
	}
	return fmt.Sprintf("%s%d.%06d", sign, u/uint64(USDC), u%uint64(USDC))
}

// MarshalJSON writes the amount as a decimal string: JSON numbers lose digits in many readers.
func (a Micro) MarshalJSON() ([]byte, error) { return json.Marshal(a.String()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Micro) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("money: an amount is a decimal string: %w", err)
	}
	if s == Micro(math.MinInt64).String() { // its amount without the sign doesn't fit
		*a = math.MinInt64
		return nil
	}
	s, neg := strings.CutPrefix(s, "-")
	if strings.TrimSpace(s) != s {
		return ErrNotPlain
	}
	v, err := Parse(s)
	if err != nil {
		return err
	}
	if neg {
		v = -v
	}
	*a = v
	return nil
}

// The ways in which a typed amount can be wrong. Each has its own message for people.
var (
	ErrEmpty    = errors.New("money: no amount given")
	ErrNotPlain = errors.New("money: not a plain decimal amount")
	ErrDecimals = errors.New("money: more than six decimals")
)

// Parse reads an amount as a person types it: digits with at most six decimals after a point or a comma, as in
// "2.19" and "2,19". It takes no sign, exponent, currency or thousands separator: "1,234.5" is refused, since one
// country's thousand is another's decimal.
func Parse(s string) (Micro, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, ErrEmpty
	}
	whole, frac, _ := strings.Cut(strings.Replace(s, ",", ".", 1), ".")
	if whole == "" && frac == "" || !digits(whole) || !digits(frac) {
		return 0, ErrNotPlain
	}
	if len(frac) > Decimals {
		if strings.Trim(frac[Decimals:], "0") != "" {
			return 0, ErrDecimals
		}
		frac = frac[:Decimals]
	}
	whole = strings.TrimLeft(whole, "0")
	if len(whole) > 13 {
		return 0, ErrOverflow
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", Decimals-len(frac)), 10, 64)
	if err != nil {
		return 0, ErrOverflow
	}
	return Micro(n), nil
}

func digits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return true
}
