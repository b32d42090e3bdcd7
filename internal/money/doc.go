// Package money holds amounts of USDC as integers and the arithmetic that charges are made of.
//
// There is no floating point here, and no operation that can overflow unnoticed: Add, Sub and MulDiv say so.
package money
