package benchmark

import (
	"github.com/gpunex/gpunex/internal/gpu"
)

// overreach is how many times the expected figure still passes for a measurement. Unlocked cards reach two.
const overreach = 10

// judgement is what one run says of one GPU.
type judgement struct {
	Figures  map[string]float64 // the numbers among those that the host told
	Measured []Measured
	Score    int
	Health   float64
	Passed   bool
	ProofOK  bool
	Failures []Failure
}

// judge turns a GPU's figures and its proof into a verdict. Model is the fleet's: a catalogue key, or else the GPU is
// unrated and doesn't pass until the catalogue has it.
func judge(model string, told map[string]float64, proofOK bool) judgement {
	j := judgement{Figures: map[string]float64{}, ProofOK: proofOK}
	figures := map[gpu.Figure]float64{}
	m, rated := gpu.Find(model)
	if !proofOK {
		j.Failures = append(j.Failures, Failure{Code: "proof_failed"})
	}
	if !rated {
		j.Failures = append(j.Failures, Failure{Code: "unrated"})
	}
	floors := gpu.Floors()
	for _, f := range gpu.Figures() {
		v, expected := told[string(f)], m.Expected[f]
		if !gpu.Number(v) || rated && v > overreach*expected {
			j.Failures = append(j.Failures, Failure{Code: "not_a_number", Figure: f, Expected: expected})
			continue
		}
		figures[f], j.Figures[string(f)] = v, v
		if rated && v < floors[f]*expected {
			j.Failures = append(j.Failures, Failure{Code: "below_floor", Figure: f, Value: v, Expected: expected, Floor: floors[f]})
		}
	}
	j.Measured = measured(m, j.Figures)
	if rated {
		j.Score, j.Health = gpu.Score(figures), gpu.Health(m, figures)
	}
	j.Passed = len(j.Failures) == 0
	return j
}

// measured puts figures beside what the model expects, in the order in which people read them.
func measured(m gpu.Model, figures map[string]float64) []Measured {
	var out []Measured
	for _, f := range gpu.Figures() {
		v, ok := figures[string(f)]
		if !ok {
			continue
		}
		one := Measured{Figure: f, Value: v, Expected: m.Expected[f]}
		if one.Expected > 0 {
			one.Ratio = v / one.Expected
		}
		out = append(out, one)
	}
	return out
}
