package provider_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/provider"
)

func TestQueue(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	var ids []string
	for i, name := range []string{"c", "b", "a"} {
		who := w.person(name+"@example.com", name)
		_, err := w.s.Open(ctx, now, who)
		w.ok(err)
		a, err := w.s.Submit(ctx, now.Add(-time.Duration(i)*time.Hour), who, form())
		w.ok(err)
		ids = append(ids, a.ID)
	}
	w.ok(w.s.RequestInformation(ctx, now, w.op, ids[2], "?"))
	_, err := w.s.Open(ctx, now, w.ana) // a draft doesn't wait
	w.ok(err)
	q, err := w.s.Queue(ctx)
	w.ok(err)
	if len(q) != 3 || q[0].ID != ids[1] || q[1].ID != ids[0] || q[2].ID != ids[2] {
		t.Errorf("queue %+v", q)
	}
}

func TestFindings(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := w.submitted(w.ana, form())
	codes := func(a provider.Application) string {
		t.Helper()
		list, err := w.s.Findings(ctx, a)
		w.ok(err)
		var s []string
		for _, f := range list {
			s = append(s, f.Code)
		}
		return strings.Join(s, " ")
	}
	if got := codes(a); got != "" {
		t.Errorf("a good application: %s", got)
	}
	f := form()
	f.Email, f.UPS = "other@example.com", false
	f.FullName = " ANA SOUSA "
	f.Entries[0].City = "lisboa "
	f.Entries[0].UploadGbps, f.Entries[0].RAMGB = "0,05", "64"
	f.Entries = append(f.Entries, f.Entries[0])
	f.Entries[1].Model, f.Entries[1].OtherModel, f.Entries[1].City = "other", "Tesla T4", "Porto"
	f.Entries[1].UploadGbps, f.Entries[1].RAMGB = "0.1", "128"
	bob := w.person("bob@example.com", "Bob")
	b := w.submitted(bob, f)
	if got, want := codes(b), "below_minimum below_minimum model_unknown enterprise_without_ups duplicate_applicant"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := codes(a); got != "duplicate_applicant" {
		t.Errorf("the first of the two: %s", got)
	}
	w.ok(w.s.Withdraw(ctx, now, bob))
	if got := codes(a); got != "" {
		t.Errorf("after the other was withdrawn: %s", got)
	}
	carl := w.submitted(w.person("carl@example.com", "Carl"), provider.Form{FullName: "Carl", Email: "GPUs@example.com", Commitment: "0", Entries: form().Entries})
	if got := codes(carl); got != "duplicate_applicant" {
		t.Errorf("same email: %s", got)
	}
}
