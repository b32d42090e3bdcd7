package proof

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
)

// repetitions of Freivalds' check: a wrong row passes all with probability 2^-64.
const repetitions = 2

// Verify checks opened rows of a round against the commitment and against the product itself. Rnd gives random words
// that the prover can't know. A nil error means that every row holds.
func Verify(seed uint64, n int, roots [][]byte, round int, rows []int, opened []Opened, rnd func() uint64) error {
	if err := checkSize(n); err != nil {
		return err
	}
	if round < 0 || round >= len(roots) || len(roots) > MaxRounds {
		return fmt.Errorf("proof: no round %d among %d roots", round, len(roots))
	}
	for t, r := range roots {
		if len(r) != sha256.Size {
			return fmt.Errorf("proof: the root of round %d has %d bytes", t, len(r))
		}
	}
	if len(rows) == 0 || rnd == nil {
		return errors.New("proof: nothing to check")
	}
	if len(opened) != len(rows) {
		return fmt.Errorf("proof: %d rows opened of %d", len(opened), len(rows))
	}
	s := firstRound(seed)
	for _, r := range roots[:round] {
		s = nextRound(s, r)
	}
	key := keys(s, n)
	for q, o := range opened {
		switch {
		case rows[q] < 0 || rows[q] >= n:
			return fmt.Errorf("proof: no row %d among %d", rows[q], n)
		case o.Row != rows[q]:
			return fmt.Errorf("proof: row %d opened instead of %d", o.Row, rows[q])
		case len(o.C) != n:
			return fmt.Errorf("proof: row %d has %d entries of %d", o.Row, len(o.C), n)
		case len(o.Path) != depth(n):
			return fmt.Errorf("proof: the path of row %d has %d steps of %d", o.Row, len(o.Path), depth(n))
		}
		for _, sibling := range o.Path {
			if len(sibling) != sha256.Size {
				return fmt.Errorf("proof: a step in the path of row %d has %d bytes", o.Row, len(sibling))
			}
		}
		if !bytes.Equal(climb(o.Row, fingerprint(o.C, key), o.Path), roots[round]) {
			return fmt.Errorf("proof: row %d isn't the one that was committed", o.Row)
		}
	}
	return freivalds(s, n, opened, rnd)
}

// freivalds checks C·r = A·(B·r) for the opened rows in Z/2^64, with 32-bit r: then e·r is injective in r for every
// error e ≠ 0 of an int32, so one entry's r alone decides with probability 2^-32.
func freivalds(round uint64, n int, opened []Opened, rnd func() uint64) error {
	for range repetitions {
		r := make([]uint64, n)
		for j := range r {
			r[j] = rnd() & 0xFFFFFFFF
		}
		m, x := make([]int8, n), make([]uint64, n)
		sb := stream(round, streamB)
		for k := range n {
			fillRow(sb, k, m)
			var sum int64
			for j, v := range m {
				sum += int64(v) * int64(r[j])
			}
			x[k] = uint64(sum)
		}
		sa := stream(round, streamA)
		for _, o := range opened {
			fillRow(sa, o.Row, m)
			var left, right uint64
			for j, v := range m {
				left += uint64(int64(o.C[j])) * r[j]
				right += uint64(int64(v)) * x[j]
			}
			if left != right {
				return fmt.Errorf("proof: row %d isn't the product", o.Row)
			}
		}
	}
	return nil
}
