package proof

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// tree is a Merkle tree over the rows' fingerprints, levels from the leaves to the root. Leaves are padded to a power
// of two; leaves and nodes hash under different prefixes, so neither passes for the other.
type tree [][][]byte

func leaf(row int, fingerprint uint64) []byte {
	b := binary.BigEndian.AppendUint64([]byte{0}, uint64(row))
	h := sha256.Sum256(binary.BigEndian.AppendUint64(b, fingerprint))
	return h[:]
}

func node(left, right []byte) []byte {
	b := append([]byte{1}, left...)
	h := sha256.Sum256(append(b, right...))
	return h[:]
}

// depth is the length of every path in a tree of n leaves.
func depth(n int) int { return bits.Len(uint(n - 1)) }

func grow(fingerprints []uint64) tree {
	level := make([][]byte, 1<<depth(len(fingerprints)))
	for i := range level {
		if i < len(fingerprints) {
			level[i] = leaf(i, fingerprints[i])
		} else {
			level[i] = make([]byte, sha256.Size)
		}
	}
	t := tree{level}
	for len(level) > 1 {
		up := make([][]byte, len(level)/2)
		for i := range up {
			up[i] = node(level[2*i], level[2*i+1])
		}
		level = up
		t = append(t, level)
	}
	return t
}

func (t tree) root() []byte { return t[len(t)-1][0] }

// path gives the siblings of row, leaf upwards.
func (t tree) path(row int) [][]byte {
	var p [][]byte
	for _, level := range t[:len(t)-1] {
		p = append(p, level[row^1])
		row >>= 1
	}
	return p
}

// climb computes the root from a leaf and its path. The row says on which side each sibling stands.
func climb(row int, fingerprint uint64, path [][]byte) []byte {
	h := leaf(row, fingerprint)
	for _, s := range path {
		if row&1 == 0 {
			h = node(h, s)
		} else {
			h = node(s, h)
		}
		row >>= 1
	}
	return h
}
