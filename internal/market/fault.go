package market

import (
	"errors"
	"strconv"

	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/money"
)

// OfferGone says that somebody else was faster, or the host has left the market.
func OfferGone() error {
	return fault.New(fault.Conflict, "offer_gone", "This offer is no longer available. Choose another one in the marketplace")
}

func quoteNotFound() error {
	return fault.New(fault.NotFound, "quote_not_found", "There is no such quote")
}

func notEnough(free int) error {
	return fault.New(fault.Conflict, "not_enough_gpus", "Only {free} of these GPUs are free now. Ask for fewer", "free", strconv.Itoa(free))
}

// maxRate is the highest rate per GPU-hour.
const maxRate = 1_000_000 * money.USDC

// readRate reads a rate as a provider types it.
func readRate(typed string) (money.Micro, error) {
	rate, err := money.Parse(typed)
	switch {
	case errors.Is(err, money.ErrEmpty):
		return 0, fault.New(fault.Invalid, "price_required", "Enter a rate")
	case errors.Is(err, money.ErrNotPlain):
		return 0, fault.New(fault.Invalid, "price_not_a_number", "Enter a plain number, as in 2.19 or 2,19, without currency or thousands separators")
	case errors.Is(err, money.ErrDecimals):
		return 0, fault.New(fault.Invalid, "price_decimals", "A rate has at most six decimals")
	case err != nil || rate <= 0 || rate > maxRate: // what doesn't fit in 64 bits is out of range too
		return 0, fault.New(fault.Invalid, "price_range", "Enter a rate from 0.000001 to 1,000,000 USDC")
	}
	return rate, nil
}
