// Package id makes and checks the identifiers of everything that GPUnex names: a prefix that says what it is, and a
// UUIDv7 in base 32 that sorts by time, as in rnt_01h455vb4pex5vsknk084sn02q (TypeID). The prefixes are the glossary.
package id

import (
	"fmt"

	"go.jetify.com/typeid"
)

// Kind is the prefix of one noun's identifiers.
type Kind string

// The nouns.
const (
	Person      Kind = "prs"
	Account     Kind = "acc"
	Application Kind = "app"
	Token       Kind = "tok"
	Host        Kind = "hst"
	GPU         Kind = "gpu"
	Run         Kind = "bmk"
	Quote       Kind = "quo"
	Rental      Kind = "rnt"
	Txn         Kind = "txn"
	PayoutRun   Kind = "prn"
	Payout      Kind = "pay"
	Mail        Kind = "eml"
)

// New makes an identifier that no other call has made.
func New(k Kind) string {
	t, err := typeid.WithPrefix(string(k))
	if err != nil {
		panic(fmt.Sprintf("id: prefix %q: %v", k, err)) // prefixes are the constants above: a wrong one is a bug found by the first test
	}
	return t.String()
}

// Valid says whether s is an identifier of kind k. It doesn't say whether such a thing exists.
func Valid(k Kind, s string) bool {
	t, err := typeid.FromString(s)
	return err == nil && t.Prefix() == string(k)
}
