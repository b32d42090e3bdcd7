package guard

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

var update = flag.Bool("update", false, "write the golden files")

var testPolicy = Policy{GPUs: []string{"GPU-aaaa-0001", "GPU-aaaa-0002"}, MaxCPUs: 16, MaxRAMMiB: 65536, MaxDiskMiB: 100_000}

func goodSpec() workload.Spec {
	return workload.Spec{
		Rental: "rnt_01abc", Image: "docker.io/pytorch/pytorch:2.5.1-cuda12.4", Command: []string{"python", "train.py"},
		Env: map[string]string{"B": "2", "A": "1"}, GPUs: []string{"GPU-aaaa-0002"}, CPUs: 4, RAMMiB: 8192, DiskMiB: 50_000,
	}
}

func TestComposeGolden(t *testing.T) {
	site := Site{Instance: "host", CPUs: 2}
	simulated := testPolicy
	simulated.Simulated = true
	quota := testPolicy
	quota.DiskQuota = true
	cpuOnly := goodSpec()
	cpuOnly.GPUs, cpuOnly.Env, cpuOnly.Command = nil, nil, nil
	for name, c := range map[string]struct {
		spec   workload.Spec
		policy Policy
	}{
		"gpu": {goodSpec(), testPolicy}, "simulated": {goodSpec(), simulated}, "cpu": {cpuOnly, testPolicy}, "quota": {goodSpec(), quota},
	} {
		settings, refusal := Compose(c.spec, c.policy, site)
		if refusal != nil {
			t.Errorf("%s: %v", name, refusal)
			continue
		}
		got, err := json.MarshalIndent(settings, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".json")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: settings changed; look at the difference, then run with -update:\n%s", name, got)
		}
	}
}

func TestComposeRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*workload.Spec){
		"no rental":           func(s *workload.Spec) { s.Rental = "" },
		"long rental":         func(s *workload.Spec) { s.Rental = strings.Repeat("a", 64) },
		"unicode rental":      func(s *workload.Spec) { s.Rental = "rnt_é" },
		"rental with newline": func(s *workload.Spec) { s.Rental = "rnt_1\n" },
		"rental as path":      func(s *workload.Spec) { s.Rental = "../x" },
		"no image":            func(s *workload.Spec) { s.Image = "" },
		"image as option":     func(s *workload.Spec) { s.Image = "--rm" },
		"image as URL":        func(s *workload.Spec) { s.Image = "https://example.com/x" },
		"image with space":    func(s *workload.Spec) { s.Image = "a b" },
		"short digest":        func(s *workload.Spec) { s.Image = "a@sha256:12" },
		"long image":          func(s *workload.Spec) { s.Image = strings.Repeat("a", 256) },
		"preload":             func(s *workload.Spec) { s.Env = map[string]string{"LD_PRELOAD": "x"} },
		"library path":        func(s *workload.Spec) { s.Env = map[string]string{"LD_LIBRARY_PATH": "x"} },
		"small preload":       func(s *workload.Spec) { s.Env = map[string]string{"ld_preload": "x"} },
		"visible devices":     func(s *workload.Spec) { s.Env = map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"} },
		"driver capabilities": func(s *workload.Spec) { s.Env = map[string]string{"NVIDIA_DRIVER_CAPABILITIES": "all"} },
		"name with equals":    func(s *workload.Spec) { s.Env = map[string]string{"A=B": "x"} },
		"empty name":          func(s *workload.Spec) { s.Env = map[string]string{"": "x"} },
		"zero byte in value":  func(s *workload.Spec) { s.Env = map[string]string{"A": "x\x00LD_PRELOAD=y"} },
		"zero byte in arg":    func(s *workload.Spec) { s.Command = []string{"a\x00b"} },
		"undesignated GPU":    func(s *workload.Spec) { s.GPUs = []string{"GPU-bbbb-0001"} },
		"all GPUs":            func(s *workload.Spec) { s.GPUs = []string{"all"} },
		"star":                func(s *workload.Spec) { s.GPUs = []string{"*"} },
		"GPU by index":        func(s *workload.Spec) { s.GPUs = []string{"0"} },
		"two in one":          func(s *workload.Spec) { s.GPUs = []string{"GPU-aaaa-0001,GPU-bbbb-0001"} },
		"GPU twice":           func(s *workload.Spec) { s.GPUs = []string{"GPU-aaaa-0001", "gpu-AAAA-0001"} },
		"no CPUs":             func(s *workload.Spec) { s.CPUs = 0 },
		"too many CPUs":       func(s *workload.Spec) { s.CPUs = 16.5 },
		"not a number":        func(s *workload.Spec) { s.CPUs = math.NaN() },
		"endless CPUs":        func(s *workload.Spec) { s.CPUs = math.Inf(1) },
		"no memory":           func(s *workload.Spec) { s.RAMMiB = 0 },
		"negative memory":     func(s *workload.Spec) { s.RAMMiB = -1 },
		"too much memory":     func(s *workload.Spec) { s.RAMMiB = 65537 },
		"overflowing memory":  func(s *workload.Spec) { s.RAMMiB = math.MaxInt64 },
		"too much disk":       func(s *workload.Spec) { s.DiskMiB = 100_001 },
		"many arguments":      func(s *workload.Spec) { s.Command = make([]string, maxArgs+1) },
	} {
		s := goodSpec()
		spoil(&s)
		settings, refusal := Compose(s, testPolicy, Site{Instance: "host"})
		if refusal == nil || refusal.Code != protocol.FailRefused || settings.HostConfig != nil {
			t.Errorf("%s: was not refused (%v)", name, refusal)
		}
	}
}

func TestImageNames(t *testing.T) {
	for _, name := range []string{
		"ubuntu", "ubuntu:24.04", "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", "ghcr.io/a/b_c/d--e:v1", "localhost:5000/x",
		"127.0.0.1:1/gpunex/missing:1", "nvcr.io/nvidia/cuda@sha256:" + strings.Repeat("0f", 32), "a:1@sha256:" + strings.Repeat("0f", 32),
	} {
		if !imageRef.MatchString(name) {
			t.Errorf("%s is an image's name", name)
		}
	}
}

func TestPolicyFile(t *testing.T) {
	for text, want := range map[string]string{
		`{"gpus":["GPU-aaaa-1"],"max_cpus":1,"max_ram_mib":1,"max_disk_mib":1}`: "",
		`{"gpus":["*"],"max_cpus":1,"max_ram_mib":1,"max_disk_mib":1}`:          "not a GPU's UUID",
		`{"max_cpu":1}`: "max_cpu",
		`{}`:            "max_ram_mib must be above 0",
	} {
		path := filepath.Join(t.TempDir(), "policy.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadPolicy(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s gave %v, want %q", text, err, want)
		}
	}
}

// frame is one piece as an engine sends it.
func frame(stream byte, text string) []byte {
	n := len(text)
	return append([]byte{stream, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, text...)
}

func TestReadLines(t *testing.T) {
	var in []byte
	for _, f := range [][]byte{
		frame(1, "2026-12-01T09:00:00.000000001Z one\n"),
		frame(2, "2026-12-01T09:00:00.000000002Z err \xff\n"),
		frame(1, "2026-12-01T09:00:00.000000003Z long "),
		frame(2, "2026-12-01T09:00:00.000000004Z between\n"),
		frame(1, "2026-12-01T09:00:00.000000005Z end\r\n"),
		frame(1, "2026-12-01T09:00:00.000000006Z "+strings.Repeat("é", protocol.MaxLogText)+"\n"),
		frame(1, "2026-12-01T09:00:00.000000007Z \n"),
	} {
		in = append(in, f...)
	}
	var got []protocol.LogLine
	keep := func(l protocol.LogLine) error { got = append(got, l); return nil }
	if err := readLines(bytes.NewReader(in), workload.Mark{}, keep); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i, l := range got {
		if l.Seq != int64(i) {
			t.Errorf("line %d has number %d", i, l.Seq)
		}
		if len(l.Text) > protocol.MaxLogText {
			t.Errorf("line %d has %d bytes", i, len(l.Text))
		}
		texts = append(texts, l.Stream+":"+l.Text[:min(10, len(l.Text))])
	}
	want := "stdout:one|stderr:err �|stderr:between|stdout:long end|stdout:ééééé|stdout:"
	if s := strings.Join(texts, "|"); s != want {
		t.Errorf("lines\n%s\nwant\n%s", s, want)
	}
	all := got
	got = nil
	if err := readLines(bytes.NewReader(in), workload.Mark{Next: 3, After: all[2].At}, keep); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Seq != 3 || got[0].Text != "long end" && got[0].Text != "end" {
		t.Errorf("after a mark: %d lines, the first %+v", len(got), got[0])
	}
	if err := readLines(bytes.NewReader(in[:30]), workload.Mark{}, keep); err == nil {
		t.Error("a stream that was cut is not an end")
	}
}

// Whatever is asked, what is composed keeps its promises.
func FuzzCompose(f *testing.F) {
	f.Add("rnt_1", "ubuntu:24.04", "A", "1", "GPU-aaaa-0001", 1.0, int64(64))
	f.Add("../x", "--rm", "LD_PRELOAD", "\x00", "all", math.Inf(1), int64(-1))
	f.Fuzz(func(t *testing.T, rental, image, key, value, gpu string, cpus float64, ram int64) {
		s := workload.Spec{Rental: rental, Image: image, Env: map[string]string{key: value}, GPUs: []string{gpu}, CPUs: cpus, RAMMiB: ram}
		c, refusal := Compose(s, testPolicy, Site{Instance: "host"})
		if refusal != nil {
			return
		}
		h := c.HostConfig
		if h.Privileged || len(h.Binds)+len(h.Mounts)+len(h.Devices)+len(h.VolumesFrom) > 0 || h.PidMode != "" || h.UsernsMode != "" || h.NetworkMode != "gpunex-host" {
			t.Errorf("a way to the host: %+v", h)
		}
		if len(h.DeviceRequests) != 1 || !testPolicy.designated(h.DeviceRequests[0].DeviceIDs[0]) {
			t.Errorf("devices: %+v", h.DeviceRequests)
		}
		if h.Memory <= 0 || h.Memory > testPolicy.MaxRAMMiB<<20 || h.NanoCPUs <= 0 || h.NanoCPUs > int64(testPolicy.MaxCPUs*1e9) || *h.PidsLimit <= 0 {
			t.Errorf("limits: %+v", h.Resources)
		}
		if c.Name != "gpunex-"+rental || strings.ContainsAny(c.Name, "/. \n") {
			t.Errorf("name %q", c.Name)
		}
	})
}
