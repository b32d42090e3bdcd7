package gpu

import "math"

// reference is the model whose healthy figures score 1000.
const reference = "h100-sxm"

var weights = []struct {
	figure Figure
	weight float64
}{{Tensor, 0.5}, {Bandwidth, 0.3}, {FP16, 0.1}, {FP32, 0.1}}

// Score is 1000 times the weighted geometric mean of the figures relative to a healthy H100 SXM. It is 0 when a figure
// is missing or isn't a positive number.
func Score(figures map[Figure]float64) int {
	ref, ok := Find(reference)
	if !ok {
		return 0
	}
	var log float64
	for _, w := range weights {
		v := figures[w.figure]
		if !Number(v) {
			return 0
		}
		log += w.weight * math.Log(v/ref.Expected[w.figure])
	}
	// The cap keeps a forged figure from overflowing; no real GPU comes near.
	return int(math.Round(min(1000*math.Exp(log), 1_000_000)))
}

// Health is the smallest ratio of measured to expected over the model's figures. It is 0 when one is missing or isn't a
// positive number, or the model expects nothing.
func Health(m Model, figures map[Figure]float64) float64 {
	health := math.Inf(1)
	for f, expected := range m.Expected {
		v := figures[f]
		if !Number(v) {
			return 0
		}
		health = min(health, v/expected)
	}
	if math.IsInf(health, 1) {
		return 0
	}
	return health
}

// Number says whether v can be a measurement: finite and positive.
func Number(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
