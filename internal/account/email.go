package account

import (
	"net/mail"
	"strings"
)

// ParseEmail gives the one spelling under which an email address is kept: trimmed, in lower case. It is false when mail
// can't be sent there. Addresses beyond ASCII are refused: too few mail servers take them.
func ParseEmail(s string) (email string, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return "", false
		}
	}
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s || len(s) > 254 { // a name beside the address, or quotes in it, make the two differ
		return "", false
	}
	at := strings.LastIndexByte(s, '@')
	domain := s[at+1:]
	if at > 64 || !strings.Contains(domain, ".") || strings.ContainsAny(domain, "[]_") {
		return "", false
	}
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return "", false
		}
	}
	return s, true
}
