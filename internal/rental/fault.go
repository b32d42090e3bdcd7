package rental

import (
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/money"
)

func rentalNotFound() error {
	return fault.New(fault.NotFound, "rental_not_found", "There is no such instance")
}

func quoteExpired() error {
	return fault.New(fault.Conflict, "quote_expired", "This quote has expired. Get a new one")
}

func quoteUsed() error {
	return fault.New(fault.Conflict, "quote_used", "This quote has already been used")
}

func keyReused() error {
	return fault.New(fault.Conflict, "key_reused", "This form was already sent with other contents. Get a new quote")
}

func fundsShort(need, have money.Micro) error {
	return fault.New(fault.Funds, "funds_short", "Renting this needs {need} USDC for its first hour, and {have} USDC are free to spend. Add money first",
		"need", need.String(), "have", have.String())
}
