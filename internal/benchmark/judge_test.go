package benchmark

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/gpunex/gpunex/internal/gpu"
)

// healthy are the figures of a model at a share of what is expected.
func healthy(key string, share float64) map[string]float64 {
	m, _ := gpu.Find(key)
	out := map[string]float64{}
	for f, v := range m.Expected {
		out[string(f)] = v * share
	}
	return out
}

func codes(fs []Failure) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Code+" "+string(f.Figure))
	}
	return out
}

func TestJudge(t *testing.T) {
	with := func(f gpu.Figure, v float64) map[string]float64 {
		m := healthy("l40s", 0.95)
		m[string(f)] = v
		return m
	}
	missing := healthy("l40s", 1)
	delete(missing, "vram")
	for name, c := range map[string]struct {
		model   string
		figures map[string]float64
		proof   bool
		passed  bool
		failure string
	}{
		"healthy":                {"l40s", healthy("l40s", 1), true, true, ""},
		"a little slow":          {"l40s", healthy("l40s", 0.94), true, true, ""},
		"tensor just above":      {"l40s", with(gpu.Tensor, 0.701*362), true, true, ""},
		"tensor below":           {"l40s", with(gpu.Tensor, 0.699*362), true, false, "below_floor tensor"},
		"bandwidth below":        {"l40s", with(gpu.Bandwidth, 0.79*864), true, false, "below_floor bandwidth"},
		"fp32 below":             {"l40s", with(gpu.FP32, 0.79*91.6), true, false, "below_floor fp32"},
		"vram below":             {"l40s", with(gpu.VRAM, 44), true, false, "below_floor vram"},
		"not a number":           {"l40s", with(gpu.FP16, math.NaN()), true, false, "not_a_number fp16"},
		"infinite":               {"l40s", with(gpu.FP16, math.Inf(1)), true, false, "not_a_number fp16"},
		"negative":               {"l40s", with(gpu.FP16, -1), true, false, "not_a_number fp16"},
		"zero":                   {"l40s", with(gpu.FP16, 0), true, false, "not_a_number fp16"},
		"more than can be":       {"l40s", with(gpu.Tensor, 1e300), true, false, "not_a_number tensor"},
		"missing":                {"l40s", missing, true, false, "not_a_number vram"},
		"proof failed":           {"l40s", healthy("l40s", 1), false, false, "proof_failed "},
		"a model that we lack":   {"NVIDIA T4", healthy("l4", 1), true, false, "unrated "},
		"a slow card posing big": {"h100-sxm", healthy("l4", 1), true, false, "below_floor tensor"},
	} {
		t.Run(name, func(t *testing.T) {
			j := judge(c.model, c.figures, c.proof)
			if j.Passed != c.passed || j.ProofOK != c.proof {
				t.Errorf("%+v", j)
			}
			if got := codes(j.Failures); c.failure == "" && len(got) != 0 || c.failure != "" && (len(got) == 0 || got[0] != c.failure) {
				t.Errorf("failures %q, want %q first", got, c.failure)
			}
		})
	}
	if j := judge("h100-sxm", healthy("h100-sxm", 1), true); j.Score != 1000 || j.Health != 1 || len(j.Measured) != 5 || j.Measured[0].Ratio != 1 {
		t.Errorf("%+v", j)
	}
	if j := judge("NVIDIA T4", healthy("l4", 1), true); j.Score != 0 || j.Health != 0 || j.Measured[0].Expected != 0 {
		t.Errorf("an unrated card is rated: %+v", j)
	}
}

func TestJudgeIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		figures := map[string]float64{}
		for _, f := range gpu.Figures() {
			figures[string(f)] = rapid.Float64().Draw(t, string(f))
		}
		j := judge(rapid.SampledFrom([]string{"l4", "h100-sxm", "else", ""}).Draw(t, "model"), figures, rapid.Bool().Draw(t, "proof"))
		if j.Passed != (len(j.Failures) == 0) || math.IsNaN(j.Health) || math.IsInf(j.Health, 0) || j.Score < 0 {
			t.Fatalf("%+v", j)
		}
		if j.Passed && (j.Health < 0.70 || j.Score == 0) {
			t.Fatalf("passes with %+v", j)
		}
	})
}

func TestWordsAreComplete(t *testing.T) {
	for _, l := range []string{"en", "pt-PT", "fr", "de"} {
		w := wordsOf(l)
		for _, f := range gpu.Figures() {
			if w.figure[f] == "" || w.below[f] == "" {
				t.Errorf("%s lacks %s", l, f)
			}
		}
		for _, c := range []string{"proof_failed", "proof_late", "unrated", "not_a_number"} {
			if w.cause[c] == "" {
				t.Errorf("%s lacks %s", l, c)
			}
		}
	}
}
