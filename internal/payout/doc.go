// Package payout plans, sends and settles what providers are paid.
//
// Each payout takes durable steps in this order, and every one is a commit of its own. Whatever dies in between, the next
// Run goes on from the last that was committed; docs/payout-cycle.md says what each crash leaves behind.
//
//  1. The run is written: one for each schedule and period.
//  2. For each provider, one transaction: the payout row, unique by run and provider, and payable → in transit.
//  3. When every provider has been looked at, the run is closed: nothing more is planned for its period.
//  4. planned → sending, with the reference, which is the payout's identifier. Stored before the rail hears of it.
//  5. The rail is asked to move the money under that reference. This is the only step outside our database. It may be
//     repeated by anyone at any time, since a rail moves money once for a reference.
//  6. The rail is asked what became of the reference, whatever it answered before: an error of Send says nothing about the
//     money.
//  7. One transaction: sending → paid, in transit → treasury, and the mail to the owners. Or sending → returned, in transit
//     → payable, with the reason, and a mail that says so.
//
// A state changes by compare-and-set, in the transaction of the postings that belong to it. So any number of workers may
// run at once: of two that settle the same payout, one finds nothing to change.
//
// What a provider earned reaches its payable account by the rental package's doing (kind mature), after the time in which
// a fault could still be credited. This package takes what is payable; it doesn't ask what it was earned with. What is
// under the minimum stays payable, and so do the periods that nobody ran: a late run pays for all of them at once.
//
// What it isn't: it keeps no keys and speaks to no chain or bank. Rails do, and a new one changes nothing here.
package payout
