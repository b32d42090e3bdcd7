// Package i18n holds the typed message catalogue and the number, money and date formats of the interface's four
// languages: English, European Portuguese, French and German.
//
// A message is a field of Messages, so a wrong name doesn't compile; words for codes of the domain packages (faults,
// states, reasons) are maps keyed by code. Formats follow CLDR 48 and are tested against ICU.
package i18n
