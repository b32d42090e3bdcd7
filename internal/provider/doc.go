// Package provider keeps the applications of those who want to offer GPUs, their review, and who may offer them.
//
//	draft ──► submitted ◄──► information_requested
//	             └──► approved | rejected      by an operator
//	any of the three ──► withdrawn             by the applicant
//
// A form stays as it was typed until it is submitted, however wrong, so that nothing is lost; submitting checks all of
// it and tells all that is wrong at once. Each step compares the state that it starts from and sets the new one in one
// transaction, together with its event, the audit log and the mail to the applicant: of two operators who decide at the
// same time the second is told that it has been decided, and nobody is mailed about what didn't happen. Approval makes
// the provider and the enrolment token in that transaction too.
//
// Events are kept for ever. Findings are hints for the reviewer and decide nothing. What a provider's hosts are and do
// is the fleet's, their prices are the market's.
package provider
