package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/provider"
	"github.com/gpunex/gpunex/internal/web/ui"
)

// maxEntries is how many entries a form holds; more would be a mistake.
const maxEntries = 50

func (s *server) roles(q *req) error {
	a, has, err := s.Providers.Current(q.Context(), q.who.Account.ID)
	if err != nil {
		return err
	}
	var app *provider.Application
	if has {
		app = &a
	}
	return q.page(q.v.M.Roles.Title, ui.RolesPage(q.v, app))
}

func (s *server) applyPage(q *req) error {
	a, err := s.Providers.Open(q.Context(), q.now, q.who)
	if fault.Is(err, "already_provider") {
		return q.redirect("/provider")
	}
	if err != nil {
		return err
	}
	if a.State != provider.Draft && a.State != provider.InformationRequested {
		return q.redirect("/roles/application")
	}
	if len(a.Form.Entries) == 0 {
		a.Form.Entries = []provider.Entry{{Quantity: "1", Availability: "24/7"}}
	}
	return s.showApply(q, a.Form)
}

// showApply renders the form with what was typed.
func (s *server) showApply(q *req, f provider.Form) error {
	x := ui.Apply{Form: f, Models: models(), Countries: countries(q)}
	a, has, err := s.Providers.Current(q.Context(), q.who.Account.ID)
	if err != nil {
		return err
	}
	if has && a.State == provider.InformationRequested {
		for _, e := range slices.Backward(a.Events) {
			if e.To == provider.InformationRequested {
				x.Question = e.Reason
				break
			}
		}
	}
	if q.partial() {
		return q.fragment(ui.ApplyForm(q.v, x))
	}
	return q.page(q.v.M.Roles.FormTitle, ui.ApplyPage(q.v, x))
}

func (s *server) saveDraft(q *req) error {
	f, err := readForm(q)
	if err != nil {
		return err
	}
	if err := s.Providers.Save(q.Context(), q.now, q.who, f); err != nil {
		return err
	}
	return q.fragment(ui.Saved(q.v))
}

func (s *server) apply(q *req) error {
	f, err := readForm(q)
	if err != nil {
		return err
	}
	op := q.text("op")
	if op == "submit" {
		_, err := s.Providers.Submit(q.Context(), q.now, q.who, f)
		if q.refused(err) {
			return s.showApply(q, f)
		}
		if err != nil {
			return err
		}
		s.done(q, q.v.M.Roles.Submitted)
		return q.redirect("/roles/application")
	}
	switch i, err := strconv.Atoi(strings.TrimPrefix(op, "del")); {
	case op == "add" && len(f.Entries) < maxEntries:
		e := provider.Entry{Quantity: "1", Availability: "24/7"}
		if n := len(f.Entries); n > 0 { // the same site as the last one is the common case
			last := f.Entries[n-1]
			e.City, e.Country, e.Region, e.UploadGbps, e.DownloadGbps = last.City, last.Country, last.Region, last.UploadGbps, last.DownloadGbps
		}
		f.Entries = append(f.Entries, e)
	case strings.HasPrefix(op, "del") && err == nil && i >= 0 && i < len(f.Entries) && len(f.Entries) > 1:
		f.Entries = slices.Delete(f.Entries, i, i+1)
	}
	if err := s.Providers.Save(q.Context(), q.now, q.who, f); err != nil && !q.refused(err) {
		return err
	}
	if op == "save" && q.v.Fault == nil {
		q.v.Done = q.v.M.Common.Saved
	}
	return s.showApply(q, f)
}

// readForm reads the application as it was typed.
func readForm(q *req) (provider.Form, error) {
	if err := q.ParseForm(); err != nil {
		return provider.Form{}, unreadable()
	}
	get := func(name string) string { return q.PostForm.Get(name) }
	f := provider.Form{
		FullName: get("full_name"), Email: get("email"), Company: get("company"), UPS: get("ups") == "yes",
		Commitment: get("commitment"), MaintenanceNotes: get("maintenance_notes"),
	}
	for i := range maxEntries {
		p := "entries." + strconv.Itoa(i) + "."
		if !q.PostForm.Has(p + "model") {
			break
		}
		f.Entries = append(f.Entries, provider.Entry{
			Model: get(p + "model"), OtherModel: get(p + "other_model"), Quantity: get(p + "quantity"), RAMGB: get(p + "ram_gb"),
			UploadGbps: get(p + "upload_gbps"), DownloadGbps: get(p + "download_gbps"), Availability: get(p + "availability"),
			City: get(p + "city"), Country: get(p + "country"), Region: get(p + "region"), Schedule: readSchedule(q, p+"schedule."),
		})
	}
	return f, nil
}

func readSchedule(q *req, prefix string) []provider.Window {
	var list []provider.Window
	for d := range 7 {
		p := prefix + strconv.Itoa(d)
		w := provider.Window{Day: d, From: q.text(p + ".from"), To: q.text(p + ".to")}
		if w.From != "" || w.To != "" {
			list = append(list, w)
		}
	}
	return list
}

func (s *server) application(q *req) error {
	a, has, err := s.Providers.Current(q.Context(), q.who.Account.ID)
	if err != nil {
		return err
	}
	if !has {
		return q.redirect("/roles")
	}
	if a, err = s.Providers.ByID(q.Context(), a.ID); err != nil { // with its events
		return err
	}
	return q.page(q.v.M.Roles.FormTitle, ui.ApplicationPage(q.v, a, models()))
}

func (s *server) withdraw(q *req) error {
	err := s.Providers.Withdraw(q.Context(), q.now, q.who)
	if q.refused(err) {
		q.code = http.StatusConflict
		return s.application(q)
	}
	if err != nil {
		return err
	}
	s.done(q, q.v.M.Roles.Withdrawn)
	return q.redirect("/roles/application")
}
