package provider

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gpunex/gpunex/internal/fault"
)

func good() Form {
	return Form{
		FullName: "Ana Sousa", Email: "ana@example.com", Commitment: "0",
		Entries: []Entry{{Model: "l4", Quantity: "1", RAMGB: "32", UploadGbps: "0.5", DownloadGbps: "1", Availability: "24/7", City: "Lisboa", Country: "PT"}},
	}
}

func TestCheck(t *testing.T) {
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("é", 201)
	for _, c := range []struct {
		field, code string // no code: fine
		change      func(f *Form, e *Entry)
	}{
		{"full_name", "required", func(f *Form, _ *Entry) { f.FullName = " " }},
		{"full_name", "too_long", func(f *Form, _ *Entry) { f.FullName = long }},
		{"email", "required", func(f *Form, _ *Entry) { f.Email = "" }},
		{"email", "email_invalid", func(f *Form, _ *Entry) { f.Email = "ana@" }},
		{"email", "", func(f *Form, _ *Entry) { f.Email = " Ana@Example.com " }},
		{"company", "", func(f *Form, _ *Entry) { f.Company = "" }},
		{"company", "too_long", func(f *Form, _ *Entry) { f.Company = long }},
		{"maintenance_notes", "too_long", func(f *Form, _ *Entry) { f.MaintenanceNotes = strings.Repeat("x", 4001) }},
		{"commitment", "required", func(f *Form, _ *Entry) { f.Commitment = "" }},
		{"commitment", "commitment_invalid", func(f *Form, _ *Entry) { f.Commitment = "4" }},
		{"commitment", "", func(f *Form, _ *Entry) { f.Commitment = "12" }},
		{"entries", "entries_required", func(f *Form, _ *Entry) { f.Entries = nil }},
		{"entries", "", func(f *Form, _ *Entry) { f.Entries = make50(50) }},
		{"entries", "entries_many", func(f *Form, _ *Entry) { f.Entries = make50(51) }},
		{"entries.0.model", "required", func(_ *Form, e *Entry) { e.Model = "" }},
		{"entries.0.model", "model_unknown", func(_ *Form, e *Entry) { e.Model = "gtx-480" }},
		{"entries.0.other_model", "other_model_required", func(_ *Form, e *Entry) { e.Model = "other" }},
		{"entries.0.other_model", "", func(_ *Form, e *Entry) { e.Model, e.OtherModel = "other", "Tesla T4" }},
		{"entries.0.other_model", "too_long", func(_ *Form, e *Entry) { e.Model, e.OtherModel = "other", long }},
		{"entries.0.quantity", "required", func(_ *Form, e *Entry) { e.Quantity = "" }},
		{"entries.0.quantity", "quantity_range", func(_ *Form, e *Entry) { e.Quantity = "0" }},
		{"entries.0.quantity", "quantity_range", func(_ *Form, e *Entry) { e.Quantity = "1025" }},
		{"entries.0.quantity", "quantity_range", func(_ *Form, e *Entry) { e.Quantity = "1.5" }},
		{"entries.0.quantity", "quantity_range", func(_ *Form, e *Entry) { e.Quantity = "+8" }},
		{"entries.0.quantity", "quantity_range", func(_ *Form, e *Entry) { e.Quantity = "99999999999999999999" }},
		{"entries.0.quantity", "", func(_ *Form, e *Entry) { e.Quantity = " 1024 " }},
		{"entries.0.ram_gb", "ram_range", func(_ *Form, e *Entry) { e.RAMGB = "65537" }},
		{"entries.0.ram_gb", "required", func(_ *Form, e *Entry) { e.RAMGB = " " }},
		{"entries.0.upload_gbps", "gbps_invalid", func(_ *Form, e *Entry) { e.UploadGbps = "0,0" }},
		{"entries.0.upload_gbps", "gbps_invalid", func(_ *Form, e *Entry) { e.UploadGbps = "1,000.5" }},
		{"entries.0.upload_gbps", "gbps_invalid", func(_ *Form, e *Entry) { e.UploadGbps = "-1" }},
		{"entries.0.upload_gbps", "", func(_ *Form, e *Entry) { e.UploadGbps = "2,5" }},
		{"entries.0.download_gbps", "gbps_invalid", func(_ *Form, e *Entry) { e.DownloadGbps = "fast" }},
		{"entries.0.download_gbps", "required", func(_ *Form, e *Entry) { e.DownloadGbps = "" }},
		{"entries.0.availability", "required", func(_ *Form, e *Entry) { e.Availability = "" }},
		{"entries.0.availability", "availability_invalid", func(_ *Form, e *Entry) { e.Availability = "often" }},
		{"entries.0.schedule", "schedule_required", func(_ *Form, e *Entry) { e.Availability = "schedule" }},
		{"entries.0.schedule", "", func(_ *Form, e *Entry) {
			e.Availability, e.Schedule = "schedule", []Window{{0, "00:00", "24:00"}, {6, "08:00", "08:01"}}
		}},
		{"entries.0.schedule", "window_invalid", func(_ *Form, e *Entry) { e.Availability, e.Schedule = "schedule", []Window{{0, "08:00", "08:00"}} }},
		{"entries.0.schedule", "window_invalid", func(_ *Form, e *Entry) { e.Availability, e.Schedule = "schedule", []Window{{0, "8:00", "18:00"}} }},
		{"entries.0.schedule", "window_invalid", func(_ *Form, e *Entry) { e.Availability, e.Schedule = "schedule", []Window{{7, "08:00", "18:00"}} }},
		{"entries.0.schedule", "window_invalid", func(_ *Form, e *Entry) { e.Availability, e.Schedule = "schedule", []Window{{1, "24:00", "24:00"}} }},
		{"entries.0.city", "required", func(_ *Form, e *Entry) { e.City = "" }},
		{"entries.0.country", "required", func(_ *Form, e *Entry) { e.Country = "" }},
		{"entries.0.country", "country_invalid", func(_ *Form, e *Entry) { e.Country = "XX" }},
		{"entries.0.country", "country_invalid", func(_ *Form, e *Entry) { e.Country = "T P" }},
		{"entries.0.country", "", func(_ *Form, e *Entry) { e.Country = "de" }},
		{"entries.0.region", "", func(_ *Form, e *Entry) { e.Region = "" }},
	} {
		f := good()
		c.change(&f, &f.Entries[0])
		got, _ := fault.As(f.Check())
		switch {
		case c.code == "":
			if got != nil {
				t.Errorf("%s: got %v, want nothing", c.field, got)
			}
		case got == nil || len(got.Fields) != 1 || got.Fields[c.field] == nil || got.Fields[c.field].Code != c.code:
			t.Errorf("%s: got %v, want %s alone", c.field, got, c.code)
		}
	}
}

func make50(n int) []Entry {
	list := make([]Entry, n)
	for i := range list {
		list[i] = good().Entries[0]
	}
	return list
}

func TestCheckTellsAllAtOnce(t *testing.T) {
	got, _ := fault.As(Form{Entries: []Entry{{}, {}}}.Check())
	if got == nil || len(got.Fields) != 3+2*8 {
		t.Errorf("got %v", got)
	}
}

func TestCountries(t *testing.T) {
	if n := len(strings.Fields(countries)); n != 249 {
		t.Errorf("%d countries, ISO 3166-1 assigns 249", n)
	}
}

func TestMbps(t *testing.T) {
	for in, want := range map[string]int{"1": 1000, "2,5": 2500, "2.5": 2500, "0.001": 1, "0,1": 100, "10": 10000, " 1 ": 1000, "0": 0, "": 0, "1.0000": 0, ".5": 0, "1e3": 0, "١": 0} {
		got, ok := mbps(in)
		if ok != (want > 0) || ok && got != want {
			t.Errorf("%q: got %d, %v; want %d", in, got, ok, want)
		}
	}
}

func TestEnterprise(t *testing.T) {
	f := good()
	f.UPS, f.Commitment = true, "6"
	if !f.enterprise() {
		t.Error("UPS, 6 months and 24/7 are enough")
	}
	for name, change := range map[string]func(f *Form){
		"no UPS":          func(f *Form) { f.UPS = false },
		"3 months":        func(f *Form) { f.Commitment = "3" },
		"none":            func(f *Form) { f.Commitment = "0" },
		"wrong":           func(f *Form) { f.Commitment = "99" },
		"one on schedule": func(f *Form) { f.Entries = append(f.Entries, Entry{Availability: "schedule"}) },
		"no entries":      func(f *Form) { f.Entries = nil },
	} {
		g := f
		change(&g)
		if g.enterprise() {
			t.Errorf("%s: is Enterprise", name)
		}
	}
}

var entries = rapid.Custom(func(t *rapid.T) Entry {
	s := func(name string, some ...string) string {
		return rapid.OneOf(rapid.String(), rapid.SampledFrom(some)).Draw(t, name)
	}
	return Entry{
		Model: s("model", "l4", "other", ""), OtherModel: s("other", "T4"), Quantity: s("quantity", "1", "0"), RAMGB: s("ram", "64"),
		UploadGbps: s("up", "1"), DownloadGbps: s("down", "1,5"), Availability: s("availability", "24/7", "schedule"), City: s("city", "Lisboa"), Country: s("country", "PT"),
		Schedule: rapid.SliceOf(rapid.Custom(func(t *rapid.T) Window {
			return Window{Day: rapid.IntRange(-1, 8).Draw(t, "day"), From: s("from", "08:00"), To: s("to", "24:00")}
		})).Draw(t, "schedule"),
	}
})

// Whatever is typed: storing it changes neither what is wrong with it nor, when done again, anything at all; a form that
// passes has everything that approval reads.
func TestCheckProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Form{
			FullName: rapid.String().Draw(t, "name"), Email: rapid.SampledFrom([]string{"a@b.example", "a"}).Draw(t, "email"),
			Commitment: rapid.SampledFrom([]string{"", "0", "3", "6", "12", "7"}).Draw(t, "commitment"), UPS: rapid.Bool().Draw(t, "ups"),
			Entries: rapid.SliceOfN(entries, 0, 4).Draw(t, "entries"),
		}
		once := f.storable()
		if again := once.storable(); again.FullName != once.FullName || len(again.Entries) != len(f.Entries) {
			t.Fatalf("%+v is stored as %+v, then %+v", f, once, again)
		}
		if strings.Contains(once.FullName, "\x00") {
			t.Fatal("a zero byte is left")
		}
		once.findings() // of anything
		if once.Check() != nil {
			return
		}
		months, ok := once.months()
		if !ok || months < 0 || len(once.Entries) == 0 || strings.TrimSpace(once.Entries[0].City) == "" || len(strings.TrimSpace(once.Entries[0].Country)) != 2 {
			t.Fatalf("passed: %+v", once)
		}
	})
}
