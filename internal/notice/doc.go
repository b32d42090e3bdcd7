// Package notice tells people what happened to their things, in their language, by email.
//
// A notice is written into the outbox in the transaction of the change that it tells of: both happen or neither does.
// It is mailed afterwards, so a mail server that is down stops nothing, and a crash in between loses nothing: whatever
// process looks next delivers it. A mail is sent again only when the platform dies after the server took it and before
// that was written down; it then carries the same Message-ID, so mail programs show it once.
//
// The texts are in texts/<language>.toml, a subject and a body for each kind. A value that a notice doesn't bring is
// written as a dash: a mail with a gap is better than a GPU that can't be withdrawn because of its mail. Of every notice
// the value name makes the greeting. The kinds and what their texts say of Data:
//
//	application.submitted              due (a date)
//	application.information_requested  question
//	application.approved               tier (a code), models, max_hosts, token, expires
//	application.rejected               reason
//	application.withdrawn
//	gpu.withdrawn                      model, gpu, host, figure, measured, expected, floor, causes
//	gpu.listed_again, benchmark.passed model, gpu, host, score
//	host.offline                       host, last_seen
//	host.online                        host
//	rental.warned                      rental, until
//	rental.ended                       rental, reason (a code), charged (USDC)
//	payout.paid                        amount (USDC), payout, destination, reference, period_end
//	payout.returned                    amount (USDC), payout, destination, detail
//	low_balance                        balance (USDC)
//
// A code is replaced by its words of the language; anything else is written as it is.
//
// It keeps no preferences and shows nothing in pages yet, and it doesn't learn of mails that come back.
package notice
