package gpu_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/gpunex/gpunex/internal/gpu"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		name string
		vram int64
		key  string // empty: none
	}{
		{"NVIDIA H100 80GB HBM3", 81559, "h100-sxm"},
		{"NVIDIA H100 SXM", 81559, "h100-sxm"},
		{"NVIDIA H100 PCIe", 81559, "h100-pcie"},
		{"NVIDIA H100", 81559, ""},
		{"NVIDIA H100 NVL", 95830, ""},
		{"NVIDIA H100 80GB HBM3 MIG 1g.10gb", 9856, ""},
		{"NVIDIA A100-SXM4-40GB", 40960, "a100-40"},
		{"NVIDIA A100-PCIE-40GB", 40960, "a100-40"},
		{"NVIDIA A100-SXM4-80GB", 81920, "a100-80"},
		{"NVIDIA A100 80GB PCIe", 81920, "a100-80"},
		{"NVIDIA A100-SXM4-40GB", 81920, ""},
		{"NVIDIA L40S", 46068, "l40s"},
		{"NVIDIA L40", 46068, ""},
		{"NVIDIA L4", 23034, "l4"},
		{"NVIDIA GeForce RTX 4090", 24564, "rtx-4090"},
		{"NVIDIA GeForce RTX 4090 D", 24564, ""},
		{"NVIDIA GeForce RTX 4090 Laptop GPU", 16376, ""},
		{"NVIDIA RTX A6000", 46068, "rtx-a6000"},
		{"NVIDIA RTX A6000", 49140, "rtx-a6000"},
		{"Tesla T4", 15360, ""},
		{"l40s", 46068, "l40s"},
		{"l40s", 8192, ""},
		{"", 0, ""},
	} {
		m, ok := gpu.Match(c.name, c.vram)
		if ok != (c.key != "") || ok && m.Key != c.key {
			t.Errorf("Match(%q, %d) = %q, %v; want %q", c.name, c.vram, m.Key, ok, c.key)
		}
	}
}

func TestCatalogueIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range gpu.Models() {
		if seen[m.Key] || m.Name == "" || m.Source == "" || m.Expected[gpu.VRAM] != float64(m.VRAMGiB) {
			t.Errorf("%q is named twice or lacks something", m.Key)
		}
		seen[m.Key] = true
		for _, f := range gpu.Figures() {
			if !gpu.Number(m.Expected[f]) || f.Unit() == "" || gpu.Floors()[f] <= 0 || gpu.Floors()[f] >= 1 {
				t.Errorf("%s lacks %s", m.Key, f)
			}
		}
		if got, ok := gpu.Match(m.Name, int64(m.VRAMGiB)<<10); !ok || got.Key != m.Key {
			t.Errorf("%q isn't matched by its own name", m.Key)
		}
		if h := gpu.Health(m, m.Expected); h != 1 {
			t.Errorf("%s: a card that measures what is expected has health %v", m.Key, h)
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d models", len(seen))
	}
}

func TestScore(t *testing.T) {
	h100, _ := gpu.Find("h100-sxm")
	if s := gpu.Score(h100.Expected); s != 1000 {
		t.Errorf("a healthy H100 SXM scores %d", s)
	}
	a100, _ := gpu.Find("a100-80")
	if s := gpu.Score(a100.Expected); s < 300 || s > 500 {
		t.Errorf("a healthy A100 scores %d", s)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		f := map[gpu.Figure]float64{gpu.FP32: 1, gpu.FP16: 1, gpu.Tensor: bad, gpu.Bandwidth: 1, gpu.VRAM: 1}
		if gpu.Score(f) != 0 || gpu.Health(h100, f) != 0 {
			t.Errorf("%v is scored", bad)
		}
	}
	if gpu.Score(nil) != 0 || gpu.Health(h100, nil) != 0 {
		t.Error("nothing is scored")
	}
}

func TestScoreGrowsWithEachFigure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := map[gpu.Figure]float64{}
		for _, k := range gpu.Figures() {
			f[k] = rapid.Float64Range(1, 5000).Draw(t, string(k))
		}
		before := gpu.Score(f)
		k := rapid.SampledFrom([]gpu.Figure{gpu.FP32, gpu.FP16, gpu.Tensor, gpu.Bandwidth}).Draw(t, "raised")
		f[k] *= rapid.Float64Range(1, 4).Draw(t, "by")
		if gpu.Score(f) < before {
			t.Fatalf("raising %s lowers the score", k)
		}
	})
}
