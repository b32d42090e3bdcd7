// Package account keeps people, the accounts that they act for, their sessions and the audit log.
//
// A person signs in; an account owns things and money. Signing up makes both, with the person as owner, so that a
// company can later let more people act for the account that it has. Passwords are hashed with argon2id, and as one
// hash takes 19 MiB of memory, only a few run at once. Signing in takes the same time whether or not the email address
// is known.
//
// It decides no rights beyond who acts for whom and who only looks (MayAct): each service says what else an identity may do. It doesn't limit how often
// somebody tries to sign in either: that is for the edge, which knows where a request comes from.
package account
