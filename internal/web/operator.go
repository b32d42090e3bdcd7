package web

import (
	"crypto/rand"
	"slices"
	"strconv"
	"strings"

	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/gpu"
	"github.com/gpunex/gpunex/internal/provider"
	"github.com/gpunex/gpunex/internal/web/ui"
)

func (s *server) queue(q *req) error {
	list, err := s.Providers.Queue(q.Context())
	if err != nil {
		return err
	}
	var rows []ui.Waiting
	for _, a := range list {
		f, err := s.Providers.Findings(q.Context(), a)
		if err != nil {
			return err
		}
		rows = append(rows, ui.Waiting{App: a, Findings: f})
	}
	return q.page(q.v.M.Nav.Review, ui.QueuePage(q.v, rows))
}

func (s *server) review(q *req) error {
	return s.showReview(q, func(*ui.Review) {})
}

// showReview shows an application; typed puts in what the operator had typed.
func (s *server) showReview(q *req, typed func(*ui.Review)) error {
	a, err := s.Providers.ByID(q.Context(), q.PathValue("id"))
	if err != nil {
		return err
	}
	r := ui.Review{App: a, Models: models(), Tier: string(provider.Community), MaxHosts: strconv.Itoa(max(1, len(a.Form.Entries)))}
	var names []string
	for _, e := range a.Form.Entries {
		if e.Model == "other" && e.OtherModel != "" {
			names = append(names, e.OtherModel)
		} else if e.Model != "" {
			r.Chosen = append(r.Chosen, e.Model)
		}
	}
	r.Names = strings.Join(names, ", ")
	typed(&r)
	if r.Findings, err = s.Providers.Findings(q.Context(), a); err != nil {
		return err
	}
	q.v.Path = "/operator/applications/" + a.ID
	return q.page(q.v.M.Nav.Review, ui.ReviewPage(q.v, r))
}

func (s *server) approve(q *req) error {
	hosts, _ := strconv.Atoi(q.text("max_hosts")) // anything else is refused as 0
	a := provider.Approval{Tier: provider.Tier(q.text("tier")), MaxHosts: hosts, Note: q.text("note")}
	for _, key := range q.PostForm["model"] {
		if _, ok := gpu.Find(key); ok {
			a.Models = append(a.Models, key)
		}
	}
	chosen := slices.Clone(a.Models)
	for name := range strings.SplitSeq(q.text("names"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			a.Models = append(a.Models, name)
		}
	}
	err := s.Providers.Approve(q.Context(), q.now, q.who, q.PathValue("id"), a)
	return s.decided(q, err, q.v.M.Operator.Approved, func(r *ui.Review) {
		r.Tier, r.MaxHosts, r.Note, r.Chosen, r.Names = q.text("tier"), q.text("max_hosts"), a.Note, chosen, q.text("names")
	})
}

func (s *server) ask(q *req) error {
	err := s.Providers.RequestInformation(q.Context(), q.now, q.who, q.PathValue("id"), q.text("question"))
	return s.decided(q, rename(err, "reason", "question"), q.v.M.Operator.Asked, func(r *ui.Review) { r.Question = q.text("question") })
}

func (s *server) reject(q *req) error {
	err := s.Providers.Reject(q.Context(), q.now, q.who, q.PathValue("id"), q.text("reason"))
	return s.decided(q, err, q.v.M.Operator.Rejected, func(r *ui.Review) { r.Reason = q.text("reason") })
}

// rename moves the fault of one field to another: the service knows only one reason, the page has two forms.
func rename(err error, from, to string) error {
	if f, ok := fault.As(err); ok && f.Fields[from] != nil {
		f.Fields[to] = f.Fields[from]
		delete(f.Fields, from)
	}
	return err
}

func (s *server) decided(q *req, err error, done string, typed func(*ui.Review)) error {
	if q.refused(err) {
		return s.showReview(q, typed)
	}
	if err != nil {
		return err
	}
	s.done(q, done)
	return q.redirect("/operator/applications/" + q.PathValue("id"))
}

func (s *server) hosts(q *req) error {
	hosts, err := s.Fleet.Hosts(q.Context(), "")
	if err != nil {
		return err
	}
	names, err := s.names(q)
	if err != nil {
		return err
	}
	var rows []ui.OwnedHost
	for _, h := range hosts {
		rows = append(rows, ui.OwnedHost{Host: h, Owner: names[h.ProviderID]})
	}
	return q.page(q.v.M.Nav.Hosts, ui.HostsPage(q.v, rows))
}

// accountLimit is how many accounts an operator's lists name.
const accountLimit = 1000

// names maps accounts to their names.
func (s *server) names(q *req) (map[string]string, error) {
	list, err := s.Accounts.Accounts(q.Context(), accountLimit)
	names := map[string]string{}
	for _, a := range list {
		names[a.ID] = a.Name
	}
	return names, err
}

func (s *server) payoutRuns(q *req) error {
	ctx := q.Context()
	var p ui.Payouts
	var err error
	if p.Preview, p.Summary, err = s.Payouts.Preview(ctx, q.now); err != nil {
		return err
	}
	if p.List, err = s.Payouts.Of(ctx, "", listLimit); err != nil {
		return err
	}
	if p.Names, err = s.names(q); err != nil {
		return err
	}
	return q.page(q.v.M.Nav.OperatorPayouts, ui.PayoutsPage(q.v, p))
}

func (s *server) runPayouts(q *req) error {
	if _, err := s.Rentals.Mature(q.Context(), q.now); err != nil {
		return err
	}
	sum, err := s.Payouts.Run(q.Context(), q.now)
	if err != nil {
		return err
	}
	s.done(q, q.v.M.Operator.Ran.F("planned", strconv.Itoa(sum.Planned), "paid", strconv.Itoa(sum.Paid), "returned", strconv.Itoa(sum.Returned), "open", strconv.Itoa(sum.Open)))
	return q.redirect("/operator/payouts")
}

func (s *server) audit(q *req) error {
	a, err := s.Ledger.Audit(q.Context())
	if err != nil {
		return err
	}
	return q.page(q.v.M.Nav.Ledger, ui.AuditPage(q.v, a))
}

func (s *server) testMoneyPage(q *req) error {
	return s.showTestMoney(q, ui.TestMoney{Key: "test:" + rand.Text(), Account: q.FormValue("account"), Amount: "100"})
}

func (s *server) showTestMoney(q *req, t ui.TestMoney) error {
	if !s.Dev {
		return fault.New(fault.Forbidden, "dev_only", "Test money exists only in development.")
	}
	var err error
	if t.Accounts, err = s.Accounts.Accounts(q.Context(), accountLimit); err != nil {
		return err
	}
	return q.page(q.v.M.Nav.TestMoney, ui.TestMoneyPage(q.v, t))
}

func (s *server) testMoney(q *req) error {
	t := ui.TestMoney{Key: q.text("key"), Account: q.text("account"), Amount: q.text("amount")}
	if !s.Dev {
		return s.showTestMoney(q, t)
	}
	form := fault.Form{}
	m := amount(form, "amount", t.Amount)
	if len(form) == 0 && m == 0 {
		form.Add("amount", "amount_required", "Enter an amount.")
	}
	err := form.Err()
	if err == nil {
		err = s.Ledger.GiveTestFunds(q.Context(), q.now, t.Key, t.Account, q.who.Person.ID, m)
	}
	if q.refused(err) {
		return s.showTestMoney(q, t)
	}
	if err != nil {
		return err
	}
	s.done(q, q.v.M.Operator.TestPosted.F("x", q.v.L.USDC2(m)))
	return q.redirect("/operator/test-money")
}

func (s *server) outbox(q *req) error {
	list, err := s.Notices.Outbox(q.Context(), listLimit)
	if err != nil {
		return err
	}
	return q.page(q.v.M.Nav.Outbox, ui.OutboxPage(q.v, list))
}
