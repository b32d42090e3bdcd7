package ledger

// Account names one account of the books. Balances are credit positive.
type Account struct {
	Code    string
	Owner   string // the account that it belongs to; empty: the platform's own
	Floored bool   // never below zero
}

// Available is a customer's money that nothing holds.
func Available(account string) Account {
	return Account{Code: "customer:" + account + ":available", Owner: account, Floored: true}
}

// Hold is a customer's money that one rental holds.
func Hold(account, rental string) Account {
	return Account{Code: "hold:" + rental, Owner: account, Floored: true}
}

// Earned is what a provider earned and can't be paid yet: a fault could still be credited from it.
func Earned(provider string) Account {
	return Account{Code: "provider:" + provider + ":earned", Owner: provider, Floored: true}
}

// Payable is what a provider is owed and the next payout takes.
func Payable(provider string) Account {
	return Account{Code: "provider:" + provider + ":payable", Owner: provider, Floored: true}
}

// InTransit is what has been taken for a payout that isn't settled.
func InTransit(provider string) Account {
	return Account{Code: "provider:" + provider + ":in_transit", Owner: provider, Floored: true}
}

// Fees is the platform's income.
func Fees() Account { return Account{Code: "platform:fees", Floored: true} }

// Treasury stands for the money outside: it goes down when money comes in from outside, up when money leaves.
func Treasury() Account { return Account{Code: "platform:treasury"} }

// TestFunds is where an operator's test money comes from. It stands for nothing outside.
func TestFunds() Account { return Account{Code: "platform:test_funds"} }
