package hardware

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gpunex/gpunex/internal/gpu"
)

// share of a model's expected figures that a simulated GPU reaches where its profile doesn't say.
const share = 0.97

// Profile describes a simulated host's hardware.
type Profile struct {
	Name    string  `json:"name"` // the GPUs' UUIDs derive from it; a file's name unless it says otherwise
	Model   string  `json:"model"`
	Count   int     `json:"count"`
	VRAMMiB int64   `json:"vram_mib"`
	Driver  string  `json:"driver"`
	CUDA    string  `json:"cuda"`
	PowerW  int     `json:"power_w"`
	CPUs    int     `json:"cpus"`    // 0: the machine's own
	RAMMiB  int64   `json:"ram_mib"` // 0: the machine's own
	DiskMiB int64   `json:"disk_mib"`
	Faults  Faults  `json:"faults"`
	Host    Figures `json:"host_figures"`
	// Figures by name, in the unit of gpu.Figure; those that it doesn't name follow the catalogue.
	Figures map[string]float64 `json:"figures"`
}

// Figures are a simulated host's own.
type Figures struct {
	SeqReadMBs     float64 `json:"seq_read_mbs"`
	SeqWriteMBs    float64 `json:"seq_write_mbs"`
	RandReadIOPS   float64 `json:"rand_read_iops"`
	RandWriteIOPS  float64 `json:"rand_write_iops"`
	LatencyMS      float64 `json:"latency_ms"`
	ThroughputMbps float64 `json:"throughput_mbps"`
}

// Faults are what is wrong with a simulated host. GPUs are named by their index.
type Faults struct {
	Lost  []int   `json:"lost"`  // fell off the bus
	Forge []int   `json:"forge"` // answer a benchmark with a product that is wrong
	Slow  float64 `json:"slow"`  // factor on every figure; 0 for none
}

// Load reads a profile: a file's path, or "<model>x<count>" for one that the catalogue describes. name makes the UUIDs
// of a described profile; a file's own name does for a file without one.
func Load(arg, name string) (Profile, error) {
	b, err := os.ReadFile(arg)
	if errors.Is(err, os.ErrNotExist) {
		p, ok := describe(arg)
		if !ok {
			return Profile{}, fmt.Errorf("profile %q is neither a file nor a model and a count, as in h100x2; models are %s", arg, strings.Join(keys(), ", "))
		}
		p.Name = name
		return p.complete()
	}
	if err != nil {
		return Profile{}, fmt.Errorf("profile: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var p Profile
	if err := d.Decode(&p); err != nil {
		return Profile{}, fmt.Errorf("profile %s: %w", arg, err)
	}
	if p.Name == "" {
		p.Name = strings.TrimSuffix(filepath.Base(arg), filepath.Ext(arg))
	}
	p, err = p.complete()
	if err != nil {
		return Profile{}, fmt.Errorf("profile %s: %w", arg, err)
	}
	return p, nil
}

var described = regexp.MustCompile(`^(.+)x([0-9]{1,2})$`)

// describe reads "<model>x<count>"; the model's key may be cut short, as in h100.
func describe(arg string) (Profile, bool) {
	m := described.FindStringSubmatch(strings.ToLower(arg))
	if m == nil {
		return Profile{}, false
	}
	count, _ := strconv.Atoi(m[2]) // the expression allows digits only
	model, ok := find(m[1])
	if !ok {
		return Profile{}, false
	}
	return Profile{Model: model.Key, Count: count}, true
}

// find looks a model up by its key, by the beginning of it, or by its end: rtx-4090 is also 4090.
func find(short string) (gpu.Model, bool) {
	if m, ok := gpu.Find(short); ok {
		return m, true
	}
	for _, m := range gpu.Models() {
		if strings.HasPrefix(m.Key, short+"-") || strings.HasSuffix(m.Key, "-"+short) {
			return m, true
		}
	}
	return gpu.Model{}, false
}

func keys() []string {
	var ks []string
	for _, m := range gpu.Models() {
		ks = append(ks, m.Key)
	}
	slices.Sort(ks)
	return ks
}

// complete fills in what the catalogue knows and refuses what can't be.
func (p Profile) complete() (Profile, error) {
	model, ok := gpu.Find(p.Model)
	if !ok && p.VRAMMiB <= 0 {
		return Profile{}, fmt.Errorf("model %q isn't in the catalogue (%s), so vram_mib must say how much memory it has", p.Model, strings.Join(keys(), ", "))
	}
	if p.Count < 1 || p.Count > 64 {
		return Profile{}, fmt.Errorf("count is %d; a host has 1 to 64 GPUs", p.Count)
	}
	if p.VRAMMiB == 0 {
		p.VRAMMiB = int64(model.VRAMGiB) * 1024
	}
	if p.Driver == "" {
		p.Driver = "550.163.01"
	}
	if p.CUDA == "" {
		p.CUDA = "12.4"
	}
	if p.PowerW == 0 {
		p.PowerW = 350
	}
	slow := p.Faults.Slow
	if slow == 0 {
		slow = 1
	}
	figures := map[string]float64{}
	for f, v := range model.Expected {
		figures[string(f)] = v * share * slow
	}
	for f, v := range p.Figures {
		figures[f] = v * slow
	}
	p.Figures = figures
	if p.Host == (Figures{}) {
		p.Host = Figures{SeqReadMBs: 3200, SeqWriteMBs: 2100, RandReadIOPS: 410_000, RandWriteIOPS: 180_000, LatencyMS: 12, ThroughputMbps: 940}
	}
	return p, nil
}
