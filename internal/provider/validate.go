package provider

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/gpu"
)

// What a form may hold.
const (
	maxEntries  = 50
	maxQuantity = 1024
	maxRAM      = 65536 // GB
	maxShort    = 200   // characters of a name or a place
	maxNotes    = 4000
	maxWindows  = 7 * 24
)

// Check says everything that is wrong with a form, as a fault for each field.
func (f Form) Check() error {
	form := fault.Form{}
	required(form, "full_name", f.FullName)
	short(form, "full_name", f.FullName)
	required(form, "email", f.Email)
	if _, ok := account.ParseEmail(f.Email); !ok {
		form.Add("email", "email_invalid", "Enter a valid email address")
	}
	short(form, "company", f.Company)
	switch {
	case len(f.Entries) == 0:
		form.Add("entries", "entries_required", "Add at least one GPU entry")
	case len(f.Entries) > maxEntries:
		form.Add("entries", "entries_many", "One application holds at most 50 GPU entries")
	default:
		for i, e := range f.Entries {
			e.check(form, "entries."+strconv.Itoa(i)+".")
		}
	}
	required(form, "commitment", f.Commitment)
	if _, ok := f.months(); !ok {
		form.Add("commitment", "commitment_invalid", "Choose 3, 6 or 12 months, or none")
	}
	if utf8.RuneCountInString(f.MaintenanceNotes) > maxNotes {
		form.Add("maintenance_notes", "too_long", "This text is too long")
	}
	return form.Err()
}

func (e Entry) check(form fault.Form, at string) {
	required(form, at+"model", e.Model)
	if e.Model == otherModel {
		if strings.TrimSpace(e.OtherModel) == "" {
			form.Add(at+"other_model", "other_model_required", "Name the model")
		}
		short(form, at+"other_model", e.OtherModel)
	} else if _, ok := gpu.Find(e.Model); !ok {
		form.Add(at+"model", "model_unknown", "Choose a model from the list, or another model and its name")
	}

	required(form, at+"quantity", e.Quantity)
	if _, ok := whole(e.Quantity, maxQuantity); !ok {
		form.Add(at+"quantity", "quantity_range", "Enter a whole number from 1 to 1024")
	}
	required(form, at+"ram_gb", e.RAMGB)
	if _, ok := whole(e.RAMGB, maxRAM); !ok {
		form.Add(at+"ram_gb", "ram_range", "Enter the host's RAM in GB, a whole number from 1 to 65536")
	}
	for _, speed := range []struct{ field, typed string }{{"upload_gbps", e.UploadGbps}, {"download_gbps", e.DownloadGbps}} {
		required(form, at+speed.field, speed.typed)
		if _, ok := mbps(speed.typed); !ok {
			form.Add(at+speed.field, "gbps_invalid", "Enter a speed in Gbps above zero, as in 0.5 or 2,5")
		}
	}

	switch e.Availability {
	case always:
	case onSchedule:
		switch {
		case len(e.Schedule) == 0:
			form.Add(at+"schedule", "schedule_required", "Enter the hours of at least one day")
		case len(e.Schedule) > maxWindows:
			form.Add(at+"schedule", "window_invalid", "Enter each time as in 08:00 to 24:00, the end after the start")
		}
		for _, w := range e.Schedule {
			if !w.valid() {
				form.Add(at+"schedule", "window_invalid", "Enter each time as in 08:00 to 24:00, the end after the start")
			}
		}
	case "":
		form.Add(at+"availability", "required", "This field is required")
	default:
		form.Add(at+"availability", "availability_invalid", "Choose 24/7 or a specific schedule")
	}

	required(form, at+"city", e.City)
	short(form, at+"city", e.City)
	required(form, at+"country", e.Country)
	if !isCountry(strings.TrimSpace(e.Country)) {
		form.Add(at+"country", "country_invalid", "Choose a country from the list")
	}
	short(form, at+"region", e.Region)
}

// Values of closed sets in a form.
const (
	otherModel = "other"
	always     = "24/7"
	onSchedule = "schedule"
)

func required(form fault.Form, field, typed string) {
	if strings.TrimSpace(typed) == "" {
		form.Add(field, "required", "This field is required")
	}
}

func short(form fault.Form, field, typed string) {
	if utf8.RuneCountInString(typed) > maxShort {
		form.Add(field, "too_long", "This text is too long")
	}
}

// months is the commitment; false when it is none of the choices.
func (f Form) months() (n int, ok bool) {
	switch c := strings.TrimSpace(f.Commitment); c {
	case "0", "3", "6", "12":
		n, _ = strconv.Atoi(c)
		return n, true
	}
	return 0, false
}

var digits = regexp.MustCompile(`^[0-9]{1,9}$`)

// whole reads a whole number from 1 to limit.
func whole(typed string, limit int) (int, bool) {
	typed = strings.TrimSpace(typed)
	if !digits.MatchString(typed) {
		return 0, false
	}
	n, err := strconv.Atoi(typed)
	return n, err == nil && n >= 1 && n <= limit
}

var speed = regexp.MustCompile(`^([0-9]{1,5})(?:[.,]([0-9]{1,3}))?$`)

// mbps reads a speed in Gbps, with a decimal comma or point, exactly.
func mbps(typed string) (int, bool) {
	m := speed.FindStringSubmatch(strings.TrimSpace(typed))
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1] + (m[2] + "000")[:3])
	return n, err == nil && n > 0
}

var clock = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

// valid says whether it is a stretch of one day. Such times compare as text.
func (w Window) valid() bool {
	return w.Day >= 0 && w.Day <= 6 && clock.MatchString(w.From) && (clock.MatchString(w.To) || w.To == "24:00") && w.From < w.To
}

// enterprise says whether the form meets what Enterprise needs: UPS, at least 6 months, 24/7.
func (f Form) enterprise() bool { return f.UPS && f.roundTheClock() && f.committed() }

func (f Form) committed() bool {
	n, ok := f.months()
	return ok && n >= 6
}

func (f Form) roundTheClock() bool {
	for _, e := range f.Entries {
		if e.Availability != always {
			return false
		}
	}
	return len(f.Entries) > 0
}

// storable takes out what the database can't hold, which nobody can type: zero bytes and broken UTF-8.
func (f Form) storable() Form {
	f.FullName, f.Email, f.Company = clean(f.FullName), clean(f.Email), clean(f.Company)
	f.Commitment, f.MaintenanceNotes = clean(f.Commitment), clean(f.MaintenanceNotes)
	entries := make([]Entry, len(f.Entries)) // never nil: its JSON is a list
	for i, e := range f.Entries {
		e.Model, e.OtherModel, e.Quantity, e.RAMGB = clean(e.Model), clean(e.OtherModel), clean(e.Quantity), clean(e.RAMGB)
		e.UploadGbps, e.DownloadGbps, e.Availability = clean(e.UploadGbps), clean(e.DownloadGbps), clean(e.Availability)
		e.City, e.Country, e.Region = clean(e.City), clean(e.Country), clean(e.Region)
		windows := make([]Window, len(e.Schedule))
		for j, w := range e.Schedule {
			windows[j] = Window{Day: w.Day, From: clean(w.From), To: clean(w.To)}
		}
		e.Schedule = windows
		entries[i] = e
	}
	f.Entries = entries
	return f
}

func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "")
}
