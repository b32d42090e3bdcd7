package hardware

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLoadDescribed(t *testing.T) {
	for arg, model := range map[string]string{
		"h100x2": "h100-sxm", "h100-pciex1": "h100-pcie", "4090x8": "rtx-4090", "L40Sx4": "l40s", "l4x1": "l4", "a100-80x2": "a100-80",
	} {
		p, err := Load(arg, "box")
		if err != nil || p.Model != model || p.Name != "box" || p.Figures["tensor"] == 0 || p.VRAMMiB == 0 {
			t.Errorf("%s gave %+v, %v", arg, p, err)
		}
	}
	for _, arg := range []string{"h100", "x2", "h100x0", "h100x99", "gtx-480x1", "/no/file.json"} {
		if _, err := Load(arg, "box"); err == nil {
			t.Errorf("%s was taken", arg)
		}
	}
}

func TestLoadFile(t *testing.T) {
	load := func(text string) (Profile, error) {
		path := filepath.Join(t.TempDir(), "cellar.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(path, "box")
	}
	p, err := load(`{"model":"l4","count":2,"cpus":16,"ram_mib":65536,"figures":{"tensor":60},"faults":{"lost":[1],"slow":0.5}}`)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "cellar" || p.Figures["tensor"] != 30 || p.VRAMMiB != 24*1024 || p.CPUs != 16 {
		t.Errorf("profile %+v", p)
	}
	d := NewSimulated(p, time.Now)
	gpus, driver, cuda, err := d.Detect(t.Context())
	if err != nil || len(gpus) != 2 || gpus[0].Fault != "" || gpus[1].Fault == "" || driver == "" || cuda == "" {
		t.Errorf("detected %+v, %q, %q, %v", gpus, driver, cuda, err)
	}
	if samples, err := d.Sample(t.Context()); err != nil || len(samples) != 1 {
		t.Errorf("a lost GPU answered: %+v, %v", samples, err)
	}
	for text, want := range map[string]string{
		`{"model":"l4","cuont":2}`:          "cuont",
		`{"model":"new","count":2}`:         "vram_mib",
		`{"model":"l4"}`:                    "count",
		`{"model":"l4","count":1} trailing`: "",
	} {
		if _, err := load(text); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s gave %v", text, err)
		}
	}
}

func TestUUIDsFollowTheName(t *testing.T) {
	ids := func(name string) []string {
		p, err := Load("l4x2", name)
		if err != nil {
			t.Fatal(err)
		}
		return NewSimulated(p, time.Now).UUIDs()
	}
	if !slices.Equal(ids("a"), ids("a")) || ids("a")[0] == ids("a")[1] || ids("a")[0] == ids("b")[0] || !strings.HasPrefix(ids("a")[0], "GPU-sim-") {
		t.Errorf("UUIDs %v, %v", ids("a"), ids("b"))
	}
}
