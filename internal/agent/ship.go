package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

const (
	chunkLines = 200
	chunkBytes = 96 << 10 // of text; JSON may need six times as much, and the bus takes 1 MiB
	chunkWait  = 250 * time.Millisecond
	shipRetry  = 2 * time.Second
)

// shipment brings one workload's output to the platform.
type shipment struct {
	done chan struct{} // closed when there is nothing more to bring
}

// ship begins a shipment for each container that has none. It ends with the workload's last line.
func (h *Host) ship(ctx context.Context, actual []workload.State) {
	listed := map[string]bool{}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range actual {
		listed[c.Rental] = true
		if c.Phase == workload.Created || h.shipping[c.Rental] != nil {
			continue
		}
		s := &shipment{done: make(chan struct{})}
		h.shipping[c.Rental] = s
		h.deeds.Go(func() {
			defer close(s.done)
			h.bring(ctx, c.Rental)
		})
	}
	for rental, s := range h.shipping {
		if listed[rental] {
			continue
		}
		select {
		case <-s.done:
			delete(h.shipping, rental)
			h.forgetMark(rental)
		default:
		}
	}
}

// drain waits a little for a workload's last output to be brought.
func (h *Host) drain(ctx context.Context, rental string) {
	h.mu.Lock()
	s := h.shipping[rental]
	h.mu.Unlock()
	if s == nil {
		return
	}
	t := time.NewTimer(drainTimeout)
	defer t.Stop()
	select {
	case <-s.done:
	case <-t.C:
	case <-ctx.Done():
	}
}

// errStreamStopped says that the platform wants no more of a workload's output.
var errStreamStopped = errors.New("the platform wants no more output")

// errCut says that a workload's output ended before the workload did: an engine that shuts down does that.
var errCut = errors.New("the output was cut")

// over says whether a workload can say nothing more.
func (h *Host) over(ctx context.Context, rental string) bool {
	states, err := h.Runtime.List(ctx)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(states, func(s workload.State) bool { return s.Rental == rental && s.Phase != workload.Exited })
}

// bring asks which line the platform wants and brings lines from there, again and again until all are there.
func (h *Host) bring(ctx context.Context, rental string) {
	for {
		err := h.bringFrom(ctx, rental)
		if err == nil && !h.over(ctx, rental) {
			err = errCut
		}
		if err == nil || ctx.Err() != nil || errors.Is(err, errStreamStopped) || errors.Is(err, workload.ErrUnknown) {
			return
		}
		h.Log.Debug("output_interrupted", "rental", rental, "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(shipRetry):
		}
	}
}

func (h *Host) bringFrom(ctx context.Context, rental string) error {
	reply, err := h.Link.Log(ctx, protocol.LogChunk{Rental: rental})
	if err != nil {
		return err
	}
	if reply.Next < 0 {
		return errStreamStopped
	}
	from := workload.Mark{Next: reply.Next}
	if kept := h.readMark(rental); kept.Next == reply.Next {
		from = kept // found by its time, even if the engine has thrown older lines away
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan protocol.LogLine, chunkLines)
	read := make(chan error, 1)
	go func() {
		defer close(lines)
		read <- h.Runtime.Logs(ctx, rental, from, func(l protocol.LogLine) error {
			select {
			case lines <- l:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	for {
		chunk, more := gather(ctx, lines)
		if len(chunk) > 0 {
			if err := h.bringChunk(ctx, rental, chunk); err != nil {
				return err
			}
		}
		if !more {
			return <-read
		}
	}
}

// gather waits for a line and takes those that come close behind it.
func gather(ctx context.Context, lines <-chan protocol.LogLine) ([]protocol.LogLine, bool) {
	var chunk []protocol.LogLine
	var wait <-chan time.Time
	size := 0
	for len(chunk) < chunkLines && size < chunkBytes {
		select {
		case l, ok := <-lines:
			if !ok {
				return chunk, false
			}
			if wait == nil {
				wait = time.After(chunkWait)
			}
			chunk = append(chunk, l)
			size += len(l.Text)
		case <-wait:
			return chunk, true
		case <-ctx.Done():
			return nil, false
		}
	}
	return chunk, true
}

func (h *Host) bringChunk(ctx context.Context, rental string, chunk []protocol.LogLine) error {
	last := chunk[len(chunk)-1]
	reply, err := h.Link.Log(ctx, protocol.LogChunk{Rental: rental, Lines: chunk})
	switch {
	case err != nil:
		return err
	case reply.Next < 0:
		return errStreamStopped
	case reply.Next != last.Seq+1:
		return fmt.Errorf("the platform wants line %d after line %d", reply.Next, last.Seq)
	}
	h.keepMark(rental, workload.Mark{Next: reply.Next, After: last.At})
	return nil
}

// The marks are a help, not a truth: a lost one costs reading the output from its beginning.
func (h *Host) markPath(rental string) string {
	return filepath.Join(h.StateDir, "logs", rental+".json")
}

func (h *Host) readMark(rental string) workload.Mark {
	none := workload.Mark{Next: -1}
	if h.StateDir == "" || !workload.ValidRental(rental) {
		return none
	}
	b, err := os.ReadFile(h.markPath(rental))
	if err != nil {
		return none
	}
	var m workload.Mark
	if json.Unmarshal(b, &m) != nil || m.After.IsZero() {
		return none
	}
	return m
}

func (h *Host) keepMark(rental string, m workload.Mark) {
	if h.StateDir == "" || !workload.ValidRental(rental) {
		return
	}
	b, err := json.Marshal(m)
	if err == nil {
		err = os.MkdirAll(filepath.Join(h.StateDir, "logs"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(h.markPath(rental), b, 0o600)
	}
	if err != nil {
		h.Log.Debug("mark_lost", "rental", rental, "error", err)
	}
}

func (h *Host) forgetMark(rental string) {
	if h.StateDir != "" && workload.ValidRental(rental) {
		_ = os.Remove(h.markPath(rental)) // a left one is only ignored
	}
}
