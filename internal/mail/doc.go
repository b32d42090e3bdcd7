// Package mail sends email by SMTP.
//
// It knows how to talk to a mail server and nothing else: what is said, in which language and how often it is tried is
// the notices' business. A message that is sent again after a crash carries the same Message-ID, so that mail programs
// show it once. It doesn't receive mail and doesn't learn of bounces.
package mail
