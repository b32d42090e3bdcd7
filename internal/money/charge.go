package money

// msPerHour is the number of milliseconds in an hour: rates are per hour, time is metered in milliseconds.
const msPerHour = 3_600_000

// Charge is what gpus GPUs cost for ms milliseconds at rate micro-USDC per GPU-hour:
// floor(rate × gpus × ms ÷ 3,600,000). Post the difference between two cumulative charges, never the charge of a
// stretch: then the total is exact whatever the stretches were.
func Charge(rate Micro, gpus int, ms int64) (Micro, error) {
	perHour, err := MulDiv(int64(rate), int64(gpus), 1)
	if err != nil {
		return 0, err
	}
	n, err := MulDiv(perHour, ms, msPerHour)
	return Micro(n), err
}

// Fee is the platform's part of a cumulative charge: floor(charge × bps ÷ 10,000). The provider gets the rest, so
// that provider + fee = charge, always.
func Fee(charge Micro, bps int) (Micro, error) {
	n, err := MulDiv(int64(charge), int64(bps), 10_000)
	return Micro(n), err
}

// Affords is for how many whole milliseconds funds pay gpus GPUs at rate: the largest ms with Charge(rate, gpus, ms) ≤ funds.
// The second result is false when the rate is zero and no time is ever too long.
func Affords(funds, rate Micro, gpus int) (ms int64, limited bool, err error) {
	perHour, err := MulDiv(int64(rate), int64(gpus), 1)
	if err != nil {
		return 0, true, err
	}
	if perHour == 0 {
		return 0, false, nil
	}
	if funds < 0 {
		return 0, true, nil
	}
	next, err := Micro(funds).Add(1)
	if err != nil {
		return 0, true, err
	}
	// Charge first exceeds funds where perHour × ms ≥ (funds + 1) × msPerHour.
	n, err := MulDiv(int64(next), msPerHour, perHour)
	if err != nil {
		return 0, true, err
	}
	if c, err := Charge(rate, gpus, n); err != nil || c > funds {
		n--
	}
	return n, true, nil
}
