package proof

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const n, rounds = 64, 3

func proven(t testing.TB, seed uint64, size, rounds int) *Proof {
	t.Helper()
	p, err := Prove(seed, size, rounds)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func opened(t testing.TB, p *Proof, round int, rows []int) []Opened {
	t.Helper()
	o, err := p.Open(round, rows)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestHonestProverPasses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		size := 8 * rapid.IntRange(1, 12).Draw(rt, "size/8")
		count := rapid.IntRange(1, 3).Draw(rt, "rounds")
		p := proven(t, seed, size, count)
		round := rapid.IntRange(0, count-1).Draw(rt, "round")
		rows := rapid.SliceOfN(rapid.IntRange(0, size-1), 1, 8).Draw(rt, "rows")
		if err := Verify(seed, size, p.Roots(), round, rows, opened(t, p, round, rows), rand.Uint64); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestSize256(t *testing.T) {
	p := proven(t, 7, 256, 2)
	rows := []int{0, 255, 128, 3}
	if err := Verify(7, 256, p.Roots(), 1, rows, opened(t, p, 1, rows), rand.Uint64); err != nil {
		t.Fatal(err)
	}
}

func TestProductIsExact(t *testing.T) {
	p := proven(t, 1, 8, 1)
	a, b := make([]int8, 8), make([]int8, 8)
	var want [8]int32
	fillRow(stream(firstRound(1), streamA), 5, a)
	for k := range 8 {
		fillRow(stream(firstRound(1), streamB), k, b)
		for j := range 8 {
			want[j] += int32(a[k]) * int32(b[j])
		}
	}
	if got := opened(t, p, 0, []int{5})[0].C; !slices.Equal(got, want[:]) {
		t.Fatalf("row 5 is %v, want %v", got, want)
	}
}

func TestCheatsAreRefused(t *testing.T) {
	p := proven(t, 42, n, rounds)
	rows := []int{1, 17, 40}
	other := proven(t, 43, n, rounds)
	for name, cheat := range map[string]func(o []Opened, roots [][]byte) ([]Opened, [][]byte){
		"an entry flipped": func(o []Opened, r [][]byte) ([]Opened, [][]byte) { o[1].C[n-1] ^= 1; return o, r },
		"a row skipped":    func(o []Opened, r [][]byte) ([]Opened, [][]byte) { return o[:2], r },
		"a row too many":   func(o []Opened, r [][]byte) ([]Opened, [][]byte) { return append(o, o[0]), r },
		"rows swapped": func(o []Opened, r [][]byte) ([]Opened, [][]byte) {
			o[0], o[1] = o[1], o[0]
			return o, r
		},
		"another row under this number": func(o []Opened, r [][]byte) ([]Opened, [][]byte) {
			x := opened(t, p, 1, []int{2})[0]
			x.Row = o[0].Row
			o[0] = x
			return o, r
		},
		"path reordered": func(o []Opened, r [][]byte) ([]Opened, [][]byte) {
			slices.Reverse(o[0].Path)
			return o, r
		},
		"path cut":              func(o []Opened, r [][]byte) ([]Opened, [][]byte) { o[0].Path = o[0].Path[1:]; return o, r },
		"path of short hashes":  func(o []Opened, r [][]byte) ([]Opened, [][]byte) { o[0].Path[0] = nil; return o, r },
		"row cut":               func(o []Opened, r [][]byte) ([]Opened, [][]byte) { o[2].C = o[2].C[:n-1]; return o, r },
		"another round's rows":  func(_ []Opened, r [][]byte) ([]Opened, [][]byte) { return opened(t, p, 0, rows), r },
		"another seed's proof":  func([]Opened, [][]byte) ([]Opened, [][]byte) { return opened(t, other, 1, rows), other.Roots() },
		"another seed's roots":  func(o []Opened, _ [][]byte) ([]Opened, [][]byte) { return o, other.Roots() },
		"first root exchanged":  func(o []Opened, r [][]byte) ([]Opened, [][]byte) { r[0] = other.Roots()[0]; return o, r },
		"a root of wrong size":  func(o []Opened, r [][]byte) ([]Opened, [][]byte) { r[1] = r[1][:31]; return o, r },
		"roots missing":         func(o []Opened, r [][]byte) ([]Opened, [][]byte) { return o, r[:1] },
		"nothing":               func([]Opened, [][]byte) ([]Opened, [][]byte) { return nil, nil },
		"an entry far off":      func(o []Opened, r [][]byte) ([]Opened, [][]byte) { o[0].C[0] ^= -1 << 31; return o, r },
		"zeros":                 func(o []Opened, r [][]byte) ([]Opened, [][]byte) { clear(o[0].C); return o, r },
		"the same row repeated": func(o []Opened, r [][]byte) ([]Opened, [][]byte) { o[1], o[2] = o[0], o[0]; return o, r },
	} {
		t.Run(name, func(t *testing.T) {
			o, roots := cheat(opened(t, p, 1, rows), p.Roots())
			if Verify(42, n, roots, 1, rows, o, rand.Uint64) == nil {
				t.Error("passes")
			}
		})
	}
}

// forge commits to given rows of round 0 with a fingerprint of the cheat's choice.
func forge(rows [][]int32, print func(c []int32) uint64) *Proof {
	prints := make([]uint64, len(rows))
	for i, c := range rows {
		prints[i] = print(c)
	}
	return &Proof{n: len(rows), trees: []tree{grow(prints)}}
}

func all(size int) []int {
	rows := make([]int, size)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// A cheat that commits consistently to a wrong product is caught by Freivalds alone.
func TestCommittedWrongProductIsRefused(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		round := firstRound(9)
		c := multiply(round, 16, all(16))
		i, j := rapid.IntRange(0, 15).Draw(rt, "row"), rapid.IntRange(0, 15).Draw(rt, "column")
		c[i][j] += int32(1) << rapid.IntRange(0, 31).Draw(rt, "bit")
		key := keys(round, 16)
		f := forge(c, func(c []int32) uint64 { return fingerprint(c, key) })
		o := []Opened{{Row: i, C: c[i], Path: f.trees[0].path(i)}}
		if Verify(9, 16, f.Roots(), 0, []int{i}, o, rand.Uint64) == nil {
			rt.Fatal("passes")
		}
	})
}

// A linear fingerprint could be had from A·(B·s) in n² steps, computing the rows only when they are opened.
func TestLinearForgeryIsRefused(t *testing.T) {
	round := firstRound(9)
	key := keys(round, n)
	// x = B·key, then the fingerprint of row i is A_i·x: no product was made.
	b, x, a := make([]int8, n), make([]uint64, n), make([]int8, n)
	for k := range n {
		fillRow(stream(round, streamB), k, b)
		for j, v := range b {
			x[k] += uint64(int64(v)) * key[j]
		}
	}
	prints := make([]uint64, n)
	for i := range n {
		fillRow(stream(round, streamA), i, a)
		for k, v := range a {
			prints[i] += uint64(int64(v)) * x[k]
		}
	}
	cheat := &Proof{n: n, rounds: []uint64{round}, trees: []tree{grow(prints)}}
	rows := []int{3, 9}
	if Verify(9, n, cheat.Roots(), 0, rows, opened(t, cheat, 0, rows), rand.Uint64) == nil {
		t.Fatal("passes")
	}
}

func TestFingerprintIsNotLinear(t *testing.T) {
	key := keys(1, 8)
	x, y, sum := []int32{1, 2, 3, 4, 5, 6, 7, 8}, []int32{8, 1, 7, 2, 6, 3, 5, 4}, make([]int32, 8)
	for j := range sum {
		sum[j] = x[j] + y[j]
	}
	if fingerprint(sum, key) == fingerprint(x, key)+fingerprint(y, key) {
		t.Error("the fingerprint of a sum is the sum of the fingerprints")
	}
	if fingerprint([]int32{2, 1, 3, 4, 5, 6, 7, 8}, key) == fingerprint(x, key) {
		t.Error("the fingerprint doesn't see the order")
	}
}

func TestLimits(t *testing.T) {
	for _, size := range []int{-8, 0, 4, 12, 4104} {
		if _, err := Prove(1, size, 1); err == nil {
			t.Errorf("size %d is proven", size)
		}
		if Verify(1, size, [][]byte{make([]byte, 32)}, 0, []int{0}, nil, rand.Uint64) == nil {
			t.Errorf("size %d is verified", size)
		}
	}
	for _, r := range []int{-1, 0, MaxRounds + 1} {
		if _, err := Prove(1, 8, r); err == nil {
			t.Errorf("%d rounds are proven", r)
		}
	}
	p := proven(t, 1, 8, 1)
	for _, c := range []struct{ round, row int }{{-1, 0}, {1, 0}, {0, -1}, {0, 8}} {
		if _, err := p.Open(c.round, []int{c.row}); err == nil {
			t.Errorf("row %d of round %d is opened", c.row, c.round)
		}
		if Verify(1, 8, p.Roots(), c.round, []int{c.row}, []Opened{{Row: c.row, C: make([]int32, 8), Path: make([][]byte, 3)}}, rand.Uint64) == nil {
			t.Errorf("row %d of round %d is verified", c.row, c.round)
		}
	}
	if Verify(1, 8, p.Roots(), 0, nil, nil, rand.Uint64) == nil {
		t.Error("no rows are verified")
	}
	if Verify(1, 8, p.Roots(), 0, []int{0}, opened(t, p, 0, []int{0}), nil) == nil {
		t.Error("verified without chance")
	}
}

func TestGPUsHaveSeedsOfTheirOwn(t *testing.T) {
	if GPUSeed(1, "GPU-a") == GPUSeed(1, "GPU-b") || GPUSeed(1, "GPU-a") == GPUSeed(2, "GPU-a") {
		t.Error("two GPUs or runs share a seed")
	}
}

func FuzzVerify(f *testing.F) {
	p := proven(f, 5, 8, 1)
	f.Add(0, 3, []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, round, row int, data []byte) {
		o := Opened{Row: row, C: make([]int32, 8), Path: make([][]byte, len(data)%5)}
		for i := range o.C {
			if len(data) >= 4*(i+1) {
				o.C[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
			}
		}
		for i := range o.Path {
			o.Path[i] = make([]byte, 32)
		}
		if Verify(5, 8, p.Roots(), round, []int{row}, []Opened{o}, rand.Uint64) == nil {
			t.Error("a made-up row passes")
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	rows := []int{0, 1, 2, 3, 4, 5, 6, 7}
	p := proven(b, 1, 256, 1)
	o := opened(b, p, 0, rows)
	for b.Loop() {
		if err := Verify(1, 256, p.Roots(), 0, rows, o, rand.Uint64); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProve256(b *testing.B) {
	for b.Loop() {
		proven(b, 1, 256, 1)
	}
}
