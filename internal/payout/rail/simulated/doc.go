// Package simulated is a rail that pays at once and moves nothing: for development, demonstrations and tests.
//
// Its table stands for the outside world. It writes with connections of its own, never in a caller's transaction, so that
// a payout that crashes here behaves as one that crashes beside a bank or a chain: the money has moved, and the books
// don't know yet. It doesn't imitate delays or failures; tests put those around it.
package simulated
