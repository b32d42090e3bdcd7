package proof

import "fmt"

// Opened is one row of a round's product with its path to the round's root.
type Opened struct {
	Row  int
	C    []int32
	Path [][]byte // siblings, leaf upwards
}

// Proof is the prover's side after all rounds: enough to open any row, without keeping the products.
type Proof struct {
	n      int
	rounds []uint64 // seeds
	trees  []tree
}

// block is how many rows are multiplied at once: B is made anew for each block, and only a block of C is in memory.
const block = 64

// Prove multiplies on the CPU: rounds products of size n.
func Prove(seed uint64, n, rounds int) (*Proof, error) {
	if err := checkSize(n); err != nil {
		return nil, err
	}
	if rounds < 1 || rounds > MaxRounds {
		return nil, fmt.Errorf("proof: %d rounds are not 1 to %d", rounds, MaxRounds)
	}
	p := &Proof{n: n}
	round := firstRound(seed)
	for range rounds {
		key, prints := keys(round, n), make([]uint64, n)
		for from := 0; from < n; from += block {
			rows := make([]int, min(block, n-from))
			for q := range rows {
				rows[q] = from + q
			}
			for q, c := range multiply(round, n, rows) {
				prints[from+q] = fingerprint(c, key)
			}
		}
		t := grow(prints)
		p.rounds, p.trees = append(p.rounds, round), append(p.trees, t)
		round = nextRound(round, t.root())
	}
	return p, nil
}

// Roots gives one root per round: the commitment.
func (p *Proof) Roots() [][]byte {
	roots := make([][]byte, len(p.trees))
	for i, t := range p.trees {
		roots[i] = t.root()
	}
	return roots
}

// Open gives rows of one round, in the order asked for.
func (p *Proof) Open(round int, rows []int) ([]Opened, error) {
	if round < 0 || round >= len(p.rounds) {
		return nil, fmt.Errorf("proof: no round %d among %d", round, len(p.rounds))
	}
	for _, r := range rows {
		if r < 0 || r >= p.n {
			return nil, fmt.Errorf("proof: no row %d among %d", r, p.n)
		}
	}
	opened := make([]Opened, len(rows))
	for q, c := range multiply(p.rounds[round], p.n, rows) {
		opened[q] = Opened{Row: rows[q], C: c, Path: p.trees[round].path(rows[q])}
	}
	return opened, nil
}
