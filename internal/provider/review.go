package provider

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/gpu"
)

const (
	maxHosts  = 10000
	maxReason = 4000 // characters
	maxModels = 100
)

// Approve makes the account a provider, issues an enrolment token and mails the install command, in one transaction.
// Faults: application_decided, application_not_found, application_incomplete, already_provider, enterprise_requirements
// (UPS, 6 months, 24/7), max_hosts_invalid, models_required, tier_invalid, too_long, operators_only.
func (s *Service) Approve(ctx context.Context, now time.Time, operator account.Identity, id string, ap Approval) error {
	if err := mayReview(operator); err != nil {
		return err
	}
	models, err := ap.check()
	if err != nil {
		return err
	}
	return s.db.InTx(ctx, func(tx db.Tx) error {
		a, err := lockForReview(ctx, tx, id)
		if err != nil {
			return err
		}
		// The applicant may be in the middle of changing it, to answer what they were asked.
		if a.Form.Check() != nil {
			return fault.New(fault.Conflict, "application_incomplete", "The applicant has left something wrong in this application: it can be approved once it is complete")
		}
		if ap.Tier == Enterprise && !a.Form.enterprise() {
			return fault.New(fault.Invalid, "enterprise_requirements", "Enterprise Tier needs a UPS, a commitment of at least 6 months and 24/7 availability")
		}
		months, _ := a.Form.months()
		first := a.Form.Entries[0]
		p := Provider{
			AccountID: a.AccountID, Tier: ap.Tier, Status: "active", Models: models, MaxHosts: ap.MaxHosts, CommitmentMonths: months,
			City: strings.TrimSpace(first.City), Country: strings.ToUpper(strings.TrimSpace(first.Country)), Region: strings.TrimSpace(first.Region), ApprovedAt: now,
		}
		if err := insertProvider(ctx, tx, p); err != nil {
			return err
		}
		token, err := s.tokens.Issue(ctx, tx, now, a.AccountID, ap.MaxHosts)
		if err != nil {
			return err
		}
		expires, err := tokenExpiry(ctx, tx, a.AccountID)
		if err != nil {
			return err
		}
		from := a.State
		a.State, a.DecidedAt, a.UpdatedAt = Approved, &now, now
		return s.step(ctx, tx, now, operator, &a, from, strings.TrimSpace(ap.Note), "application.approved", map[string]string{
			"tier": string(ap.Tier), "models": names(models), "max_hosts": strconv.Itoa(ap.MaxHosts), "token": token, "expires": date(expires),
		})
	})
}

// RequestInformation asks the applicant. Faults: reason_required, too_long, application_decided, application_not_found,
// operators_only.
func (s *Service) RequestInformation(ctx context.Context, now time.Time, operator account.Identity, id, question string) error {
	return s.answer(ctx, now, operator, id, InformationRequested, question, "application.information_requested", "question")
}

// Reject ends it. Faults: reason_required, too_long, application_decided, application_not_found, operators_only.
func (s *Service) Reject(ctx context.Context, now time.Time, operator account.Identity, id, reason string) error {
	return s.answer(ctx, now, operator, id, Rejected, reason, "application.rejected", "reason")
}

// answer takes a step that needs a reason and nothing else.
func (s *Service) answer(ctx context.Context, now time.Time, operator account.Identity, id string, to State, reason, kind, value string) error {
	if err := mayReview(operator); err != nil {
		return err
	}
	reason = strings.TrimSpace(clean(reason))
	if reason == "" {
		return onField("reason", fault.New(fault.Invalid, "reason_required", "Write a reason: the applicant reads it"))
	}
	if utf8.RuneCountInString(reason) > maxReason {
		return onField("reason", fault.New(fault.Invalid, "too_long", "This text is too long"))
	}
	return s.db.InTx(ctx, func(tx db.Tx) error {
		a, err := lockForReview(ctx, tx, id)
		if err != nil {
			return err
		}
		from := a.State
		a.State, a.UpdatedAt = to, now
		if to == Rejected {
			a.DecidedAt = &now
		}
		return s.step(ctx, tx, now, operator, &a, from, reason, kind, map[string]string{value: reason})
	})
}

// check gives the models as they are kept.
func (ap Approval) check() (models []string, err error) {
	if ap.Tier != Enterprise && ap.Tier != Community {
		return nil, onField("tier", fault.New(fault.Invalid, "tier_invalid", "Choose Enterprise or Community"))
	}
	if ap.MaxHosts < 1 || ap.MaxHosts > maxHosts {
		return nil, onField("max_hosts", fault.New(fault.Invalid, "max_hosts_invalid", "Enter a number of hosts from 1"))
	}
	long := utf8.RuneCountInString(ap.Note) > maxReason || len(ap.Models) > maxModels
	for _, m := range ap.Models {
		m = strings.TrimSpace(clean(m))
		long = long || utf8.RuneCountInString(m) > maxShort
		if m != "" && !slices.Contains(models, m) {
			models = append(models, m)
		}
	}
	if long {
		return nil, fault.New(fault.Invalid, "too_long", "This text is too long")
	}
	if len(models) == 0 {
		return nil, onField("models", fault.New(fault.Invalid, "models_required", "Choose at least one model"))
	}
	return models, nil
}

// onField shows a fault at its field too.
func onField(field string, f *fault.Fault) *fault.Fault {
	return &fault.Fault{Kind: f.Kind, Code: f.Code, Text: f.Text, Fields: map[string]*fault.Fault{field: f}}
}

func mayReview(who account.Identity) error {
	if who.Account.Operator {
		return nil
	}
	return fault.New(fault.Forbidden, "operators_only", "Only operators can open this page")
}

// names writes models for people.
func names(models []string) string {
	list := slices.Clone(models)
	for i, key := range list {
		if m, ok := gpu.Find(key); ok {
			list[i] = m.Name
		}
	}
	return strings.Join(list, ", ")
}
