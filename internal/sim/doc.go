// Package sim runs the platform's domain and several simulated hosts in one process under virtual time, and proves after
// every step that the books balance, that no GPU is let twice and that exactly the metered time is charged, once.
//
// A world is made from a seed: every choice is drawn from one generator and everything happens one after the other, so a
// seed that fails fails again. Identifiers are random and differ from run to run; no choice is made by them, and the
// trace names things by the order of their making, so that the traces of two runs with one seed are equal.
//
// What goes wrong, on purpose: messages are lost, answered without the answer coming back, doubled, late and replayed;
// the platform dies between two statements of a transaction; hosts are cut off, agents restarted; engines go away;
// containers vanish; images are bad; customers run out of money.
//
// The oracle of the running time is kept from outside, by looking at the simulated engines: the platform must never bill
// more than a container truly ran, and must never bill less than what it was told of in time.
//
// What it isn't: it has no bus, no pages and no concurrency. Transactions that race are each package's own tests.
package sim
