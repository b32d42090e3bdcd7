package ui

import (
	"strconv"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/i18n"
	"github.com/gpunex/gpunex/internal/money"
)

// View is what every page needs to render.
type View struct {
	L     *i18n.Locale
	M     *i18n.Messages
	All   []*i18n.Locale
	Path  string // without the locale segment
	Query string // with its question mark, or empty
	Theme string // "", "light" or "dark"
	Asset func(string) string
	Title string
	User  *User        // nil when nobody is signed in
	Fault *fault.Fault // what was wrong with the form that this page answers
	Done  string       // what the last request did, said once
	Now   time.Time
}

// User is the signed-in person, with the account that they act for.
type User struct {
	Name, Email string
	Provider    bool
	Operator    bool
}

func (u *User) initials() string {
	s := ""
	for _, w := range strings.Fields(u.Name) {
		s += strings.ToUpper(string([]rune(w)[:1]))
	}
	if r := []rune(s); len(r) > 2 {
		s = string(r[0]) + string(r[len(r)-1])
	}
	if s == "" && u.Email != "" {
		s = strings.ToUpper(u.Email[:1])
	}
	return s
}

// URL adds the locale segment.
func (v *View) URL(p string) string { return "/" + v.L.Path + p }

// Err is the sentence of a form field's fault, empty when there is none.
func (v *View) Err(field string) string {
	if v.Fault == nil || v.Fault.Fields[field] == nil {
		return ""
	}
	return v.L.Fault(v.Fault.Fields[field])
}

func (v *View) invalid(field string) string {
	if v.Err(field) != "" {
		return "true"
	}
	return "false"
}

func (v *View) described(field string, hint bool) string {
	var s []string
	if hint {
		s = append(s, field+"-hint")
	}
	if v.Err(field) != "" {
		s = append(s, field+"-err")
	}
	return strings.Join(s, " ")
}

// Alert is the sentence of the form as a whole.
func (v *View) Alert() string {
	switch {
	case v.Fault == nil:
		return ""
	case v.Fault.Code == "form":
		return v.L.N(v.M.Common.ErrSummary, len(v.Fault.Fields))
	}
	return v.L.Fault(v.Fault)
}

type navItem struct{ href, icon, label string }

type navSection struct {
	title string
	items []navItem
}

func (v *View) nav() []navSection {
	n := &v.M.Nav
	s := []navSection{{n.SectionRent, []navItem{{"/marketplace", "store", n.Marketplace}}}}
	if v.User == nil {
		return append(s, navSection{n.SectionAccount, []navItem{{"/sign-in", "log-in", v.M.Auth.SignIn}, {"/sign-up", "user-plus", v.M.Auth.SignUp}}})
	}
	s[0].items = append(s[0].items, navItem{"/console/instances", "server", n.Instances}, navItem{"/console/billing", "receipt", n.Billing})
	if v.User.Provider {
		s = append(s, navSection{n.SectionProvide, []navItem{{"/provider", "gauge", n.Provider}, {"/install", "terminal", n.Install}}})
	}
	s = append(s, navSection{n.SectionAccount, []navItem{{"/roles", "users", n.Roles}}})
	if v.User.Operator {
		s = append(s, navSection{n.SectionOperate, []navItem{
			{"/operator/applications", "shield-check", n.Review},
			{"/operator/hosts", "cpu", n.Hosts},
			{"/operator/payouts", "send", n.OperatorPayouts},
			{"/operator/ledger", "scale", n.Ledger},
			{"/operator/test-money", "circle-dollar-sign", n.TestMoney},
			{"/operator/outbox", "mail", n.Outbox},
		}})
	}
	return s
}

func (v *View) current(href string) bool {
	return v.Path == href || strings.HasPrefix(v.Path, href+"/")
}

func itoa(n int) string { return strconv.Itoa(n) }

func num(v *View, n int) string { return v.L.Int(int64(n)) }

// split keeps two decimals strong and dims the other four.
func split(l *i18n.Locale, m money.Micro) (string, string) {
	s := l.USDC(m)
	return s[:len(s)-4], s[len(s)-4:]
}

// short is an identifier's tail, enough to tell things apart in a list.
func short(id string) string {
	if len(id) > 8 {
		return id[len(id)-8:]
	}
	return id
}

func ternary(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}
