package guard

import (
	"slices"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

func TestNumbersGoOnAfterTheMark(t *testing.T) {
	began := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	at := func(ms ...int) (lines []protocol.LogLine) {
		for _, m := range ms {
			lines = append(lines, protocol.LogLine{At: began.Add(time.Duration(m) * time.Millisecond)})
		}
		return lines
	}
	mark := workload.Mark{Next: 7, After: began.Add(100 * time.Millisecond)}
	tests := []struct {
		name  string
		lines []protocol.LogLine
		want  []int // milliseconds of the lines that are told
	}{
		{"in order", at(90, 100, 110, 120), []int{110, 120}},
		{"another stream's line before the mark is younger", at(90, 105, 100, 110), []int{110}},
		{"another stream's line after the mark is older", at(90, 100, 95, 110), []int{95, 110}},
		{"the mark was thrown away", at(90, 1200, 1300), []int{1200, 1300}},
		{"thrown away, and the stream ends", at(150), []int{150}},
		{"nothing new", at(90, 100), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []int
			next := mark.Next
			n := numbering{from: mark, next: mark.Next, each: func(l protocol.LogLine) error {
				if l.Seq != next {
					t.Errorf("line %d has number %d, want %d", len(got), l.Seq, next)
				}
				next++
				got = append(got, int(l.At.Sub(began).Milliseconds()))
				return nil
			}}
			for _, l := range test.lines {
				if err := n.take(l); err != nil {
					t.Fatal(err)
				}
			}
			if err := n.flush(); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("told %v, want %v", got, test.want)
			}
		})
	}
}
