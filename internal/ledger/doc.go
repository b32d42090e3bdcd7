// Package ledger keeps the books: accounts, balanced postings between them, and the proof that all is in order.
//
// It is told facts and asks nobody: it doesn't know what a rental or a payout is, when one is due or who may order one.
// Whoever knows posts in its own transaction, so that the money moves together with the reason for it, or not at all.
//
// Four things always hold, and PostgreSQL holds them whatever program writes:
//
//   - The legs of a posting sum to zero (a deferred constraint trigger for every leg).
//   - What was written stays: no update, delete or truncate, and no leg added later. A mistake is undone by a reversal.
//   - An account with a floor never goes below it.
//   - A key is used once. The same posting under it again does nothing; another content under it is an error.
//
// Post locks the accounts in one order for everyone, with those that everybody shares last, so that single postings never
// deadlock. A transaction with several postings can meet another one crosswise; [db.DB.InTx] then runs it again.
//
// What it isn't: it has no floating point, no currency but USDC, and no clock: the time of a posting is an argument.
package ledger
