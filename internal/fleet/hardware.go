package fleet

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/gpunex/gpunex/internal/gpu"
	"github.com/gpunex/gpunex/internal/protocol"
)

// What no host has: beyond these a number is a mistake or a lie, and counts as unknown.
const (
	maxGPUs    = 64
	maxVRAMMiB = 1 << 20 // 1 TiB on one GPU
	maxCPUs    = 1_000_000
	maxRAMMiB  = 1 << 26 // 64 TiB
	maxDiskMiB = 1 << 32 // 4 EiB
	maxText    = 200
)

// clean keeps what can be shown and stored of a text from outside.
func clean(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if len(s) > limit {
		s = strings.TrimSpace(strings.ToValidUTF8(s[:limit], ""))
	}
	return s
}

func within[T int | int64](v, limit T) T {
	if v < 0 || v > limit {
		return 0
	}
	return v
}

// sane gives the hardware with absurd numbers as unknown, texts that can be shown, and each GPU once. VRAM is left as
// claimed: absurd is told from it later.
func sane(h protocol.Hardware) protocol.Hardware {
	h.CPUs, h.RAMMiB, h.DiskMiB = within(h.CPUs, maxCPUs), within(h.RAMMiB, maxRAMMiB), within(h.DiskMiB, maxDiskMiB)
	for _, s := range []*string{&h.Driver, &h.CUDA, &h.Runtime, &h.RuntimeVersion, &h.Kernel} {
		*s = clean(*s, maxText)
	}
	isolation := make([]string, 0, min(len(h.Isolation), 8))
	for _, s := range h.Isolation[:min(len(h.Isolation), 8)] {
		isolation = append(isolation, clean(s, 32))
	}
	h.Isolation = isolation
	seen, gpus := map[string]bool{}, make([]protocol.GPU, 0, min(len(h.GPUs), maxGPUs))
	for _, g := range h.GPUs {
		g.UUID, g.Model = clean(g.UUID, 96), clean(g.Model, 96)
		g.PCIBus, g.Fault, g.PowerW = clean(g.PCIBus, 64), clean(g.Fault, maxText), within(g.PowerW, 100_000)
		if g.UUID == "" || strings.Contains(g.UUID, "@") || seen[g.UUID] || len(gpus) == maxGPUs {
			continue // without a UUID of its own it can be neither let nor quarantined
		}
		seen[g.UUID] = true
		gpus = append(gpus, g)
	}
	h.GPUs = gpus
	return h
}

// known gives the catalogue's key of a GPU, or the driver's name for it.
func known(g protocol.GPU) string {
	if m, ok := gpu.Match(g.Model, g.VRAMMiB); ok {
		return m.Key
	}
	if g.Model == "" {
		return "unknown"
	}
	if _, ok := gpu.Find(g.Model); ok { // a key with the wrong memory isn't that model
		return g.Model + " ?"
	}
	return g.Model
}

// differs says whether two hellos are of other GPUs or drivers, so that a benchmark of the first says nothing of the
// second. Order doesn't matter.
func differs(a, b protocol.Hardware) bool {
	bare := func(gpus []protocol.GPU) []protocol.GPU {
		out := make([]protocol.GPU, len(gpus))
		for i, g := range gpus {
			out[i] = protocol.GPU{UUID: g.UUID, Model: g.Model, VRAMMiB: g.VRAMMiB, ECC: g.ECC, MIG: g.MIG}
		}
		slices.SortFunc(out, func(a, b protocol.GPU) int { return strings.Compare(a.UUID, b.UUID) })
		return out
	}
	return a.Driver != b.Driver || !slices.Equal(bare(a.GPUs), bare(b.GPUs))
}

// saneTelemetry drops what isn't numbers and keeps the rest within what exists.
func saneTelemetry(ts []protocol.Telemetry) []protocol.Telemetry {
	out := make([]protocol.Telemetry, 0, min(len(ts), maxGPUs))
	for _, t := range ts[:min(len(ts), maxGPUs)] {
		sum := t.Utilisation + t.TemperatureC + t.PowerW
		if math.IsNaN(sum) || math.IsInf(sum, 0) {
			continue
		}
		t.UUID = clean(t.UUID, 96)
		t.Utilisation = min(max(t.Utilisation, 0), 1)
		t.MemoryMiB = within(t.MemoryMiB, maxVRAMMiB)
		t.TemperatureC = min(max(t.TemperatureC, -273), 1000)
		t.PowerW = min(max(t.PowerW, 0), 100_000)
		out = append(out, t)
	}
	return out
}
