package proof

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// The limits of a proof.
const (
	MaxSize   = 4096
	MaxRounds = 1024
)

func checkSize(n int) error {
	if n < 8 || n > MaxSize || n%8 != 0 {
		return fmt.Errorf("proof: size %d is not a multiple of 8 from 8 to %d", n, MaxSize)
	}
	return nil
}

// mix64 is the finaliser of splitmix64: a bijection without a usable structure.
func mix64(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// The streams of one round: two matrices and the fingerprint's keys.
const (
	streamA = iota + 1
	streamB
	streamKey
)

// stream seeds one stream of a round.
func stream(round uint64, which uint64) uint64 { return mix64(round ^ mix64(which)) }

// fillRow writes row i of the n × n int8 matrix of a stream: eight entries a word.
func fillRow(stream uint64, i int, out []int8) {
	words := len(out) / 8
	for w := range words {
		v := mix64(stream ^ mix64(uint64(i*words+w)))
		o := out[w*8 : w*8+8 : w*8+8]
		o[0], o[1], o[2], o[3] = int8(v), int8(v>>8), int8(v>>16), int8(v>>24)
		o[4], o[5], o[6], o[7] = int8(v>>32), int8(v>>40), int8(v>>48), int8(v>>56)
	}
}

// keys are the fingerprint's keys of a round, one a column.
func keys(round uint64, n int) []uint64 {
	s, k := stream(round, streamKey), make([]uint64, n)
	for j := range k {
		k[j] = mix64(s ^ mix64(uint64(j)))
	}
	return k
}

// fingerprint condenses one row of C. It is not linear: equal sums of entries don't give equal fingerprints.
func fingerprint(c []int32, key []uint64) uint64 {
	var f uint64
	for j, v := range c {
		f += mix64(uint64(uint32(v)) ^ key[j])
	}
	return f
}

// multiply computes the given rows of A·B for a round, passing over B once.
func multiply(round uint64, n int, rows []int) [][]int32 {
	a, c := make([]int8, len(rows)*n), make([][]int32, len(rows))
	for q, i := range rows {
		fillRow(stream(round, streamA), i, a[q*n:(q+1)*n])
		c[q] = make([]int32, n)
	}
	b, sb := make([]int8, n), stream(round, streamB)
	for k := range n {
		fillRow(sb, k, b)
		for q := range rows {
			f, row := int32(a[q*n+k]), c[q][:len(b)]
			for j, v := range b {
				row[j] += f * int32(v)
			}
		}
	}
	return c
}

// firstRound seeds round 0.
func firstRound(seed uint64) uint64 { return mix64(seed) }

// nextRound seeds a round by the root of the one before, so that it can't be started earlier.
func nextRound(round uint64, root []byte) uint64 {
	h := sha256.New()
	h.Write([]byte("gpunex-proof-round\n"))
	h.Write(binary.BigEndian.AppendUint64(nil, round))
	h.Write(root)
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// GPUSeed gives one GPU's seed of a run, so that GPUs of a host can't share their work.
func GPUSeed(seed uint64, uuid string) uint64 {
	h := sha256.New()
	h.Write([]byte("gpunex-proof-gpu\n"))
	h.Write(binary.BigEndian.AppendUint64(nil, seed))
	h.Write([]byte(uuid))
	return binary.BigEndian.Uint64(h.Sum(nil))
}
