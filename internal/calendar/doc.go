// Package calendar says which days people and banks work, and where weeks and months begin.
//
// A business day is a day on which TARGET, the euro's settlement system, is open: Monday to Friday but six holidays.
// They are the same all over Europe, so a due date means the same to every applicant and a payout day is one on which
// banks move money. All days are UTC days: a moment's own location never changes the answer.
//
// It doesn't know national holidays, opening hours or a host's availability.
package calendar
