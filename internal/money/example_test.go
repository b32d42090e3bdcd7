package money_test

import (
	"fmt"

	"github.com/gpunex/gpunex/internal/money"
)

func ExampleParse() {
	for _, s := range []string{"2.19", "2,19", "1,234.5"} {
		m, err := money.Parse(s)
		fmt.Println(m, err)
	}
	// Output:
	// 2.190000 <nil>
	// 2.190000 <nil>
	// 0.000000 money: not a plain decimal amount
}

// A rental of two GPUs at 2.19 an hour is settled every five minutes and at its end. Each posting is the difference of
// two cumulative charges, so the parts add up to the charge of the whole.
func ExampleCharge() {
	const rate = 2_190_000
	var posted money.Micro
	for _, ms := range []int64{300_000, 600_000, 754_321} {
		total, _ := money.Charge(rate, 2, ms)
		fmt.Println("post", total-posted)
		posted = total
	}
	fmt.Println("in all", posted)
	// Output:
	// post 0.365000
	// post 0.365000
	// post 0.187757
	// in all 0.917757
}

func ExampleFee() {
	charge, _ := money.Charge(310_000, 1, 1_234_567)
	fee, _ := money.Fee(charge, 1000)
	fmt.Println(charge, "=", charge-fee, "+", fee)
	// Output: 0.106309 = 0.095679 + 0.010630
}

func ExampleAffords() {
	ms, limited, _ := money.Affords(10*money.USDC, 2_190_000, 8)
	fmt.Println(ms, limited)
	// Output: 2054794 true
}
