package simruntime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

// Runtime is a simulated container engine. Its methods may be called at the same time.
type Runtime struct {
	mu   sync.Mutex
	path string // empty: nothing is kept
	now  func() time.Time
	info workload.Info
	runs map[string]*run
	away bool
}

// run is one simulated container.
type run struct {
	Spec      workload.Spec `json:"spec"`
	StartedAt time.Time     `json:"started_at"`
	// EndsAt is when it ends by itself; zero for never.
	EndsAt   time.Time `json:"ends_at"`
	ExitCode int       `json:"exit_code"` // with EndsAt
}

// Open makes a Runtime that keeps its containers in dir, as an engine keeps them over an agent's restart. An empty dir
// keeps nothing.
func Open(dir string, info workload.Info, now func() time.Time) (*Runtime, error) {
	r := &Runtime{now: now, info: info, runs: map[string]*run{}}
	if dir == "" {
		return r, nil
	}
	r.path = filepath.Join(dir, "simulated.json")
	b, err := os.ReadFile(r.path)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("simulated runtime: %w", err)
	}
	if err := json.Unmarshal(b, &r.runs); err != nil {
		return nil, fmt.Errorf("simulated runtime: %s: %w", r.path, err)
	}
	return r, nil
}

// SetAway makes the engine unreachable, or reachable again; its containers run on.
func (r *Runtime) SetAway(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = away
}

// Lose makes a container vanish, as if somebody had removed it behind the agent's back.
func (r *Runtime) Lose(rental string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, rental)
	return r.save()
}

// End makes a running workload end by itself with an exit code.
func (r *Runtime) End(rental string, exitCode int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.runs[rental]
	if !ok {
		return workload.ErrUnknown
	}
	if !c.ended(r.now()) {
		c.EndsAt, c.ExitCode = r.now(), exitCode
	}
	return r.save()
}

// Info tells what the simulated machine has.
func (r *Runtime) Info(context.Context) (workload.Info, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return workload.Info{}, workload.ErrAway
	}
	return r.info, nil
}

// List tells all workloads.
func (r *Runtime) List(context.Context) ([]workload.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return nil, workload.ErrAway
	}
	now := r.now()
	states := make([]workload.State, 0, len(r.runs))
	for rental, c := range r.runs {
		s := workload.State{Rental: rental, Phase: workload.Running, StartedAt: c.StartedAt, Image: c.Spec.Image, GPUs: c.Spec.GPUs}
		if c.ended(now) {
			s.Phase, s.FinishedAt, s.ExitCode = workload.Exited, c.EndsAt, c.ExitCode
		}
		states = append(states, s)
	}
	slices.SortFunc(states, func(a, b workload.State) int { return strings.Compare(a.Rental, b.Rental) })
	return states, nil
}

func (c *run) ended(now time.Time) bool { return !c.EndsAt.IsZero() && !now.Before(c.EndsAt) }

// Start makes a workload run. One that runs or ran is left as it is.
func (r *Runtime) Start(_ context.Context, s workload.Spec, progress func(protocol.Phase)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return workload.ErrAway
	}
	if !workload.ValidRental(s.Rental) {
		return workload.Failf(protocol.FailRefused, "%q is not a rental's identifier", s.Rental)
	}
	if _, ok := r.runs[s.Rental]; ok {
		return nil
	}
	now := r.now()
	for rental, other := range r.runs {
		for _, g := range s.GPUs {
			if !other.ended(now) && slices.Contains(other.Spec.GPUs, g) {
				return workload.Failf(protocol.FailRefused, "the GPU %s is in use by rental %s", g, rental)
			}
		}
	}
	progress(protocol.PhasePulling)
	switch {
	case strings.Contains(s.Image, "missing"):
		return workload.Failf(protocol.FailImage, "the image %s can't be pulled: it doesn't exist", s.Image)
	case strings.Contains(s.Image, "noshell"):
		return workload.Failf(protocol.FailCommand, "the image %s names no command to run; give one", s.Image)
	}
	progress(protocol.PhaseCreating)
	c := &run{Spec: s, StartedAt: now}
	if len(s.Command) == 2 {
		n, err := strconv.Atoi(s.Command[1])
		switch {
		case err != nil:
		case s.Command[0] == "sleep":
			c.EndsAt = now.Add(time.Duration(n) * time.Second)
		case s.Command[0] == "exit":
			c.EndsAt, c.ExitCode = now, n
		}
	}
	if len(s.Command) > 0 && strings.HasPrefix(s.Command[0], "/no/") {
		return workload.Failf(protocol.FailCommand, "the image %s has no command %q", s.Image, s.Command[0])
	}
	r.runs[s.Rental] = c
	return r.save()
}

// Stop ends a workload and keeps it listed.
func (r *Runtime) Stop(_ context.Context, rental string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return workload.ErrAway
	}
	c, ok := r.runs[rental]
	if !ok {
		return workload.ErrUnknown
	}
	if now := r.now(); !c.ended(now) {
		c.EndsAt, c.ExitCode = now, 0
	}
	return r.save()
}

// Remove ends a workload and forgets it. One that isn't there is removed.
func (r *Runtime) Remove(_ context.Context, rental string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return workload.ErrAway
	}
	delete(r.runs, rental)
	return r.save()
}

// Logs tells the lines from a mark on and follows until the workload has ended.
func (r *Runtime) Logs(ctx context.Context, rental string, from workload.Mark, each func(protocol.LogLine) error) error {
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for next := from.Next; ; {
		lines, ended, err := r.said(rental, next)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if err := each(l); err != nil {
				return err
			}
			next = l.Seq + 1
		}
		if ended {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
	}
}

// said are the lines that a workload has said so far: one at its start and one each second after.
func (r *Runtime) said(rental string, from int64) ([]protocol.LogLine, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return nil, false, workload.ErrAway
	}
	c, ok := r.runs[rental]
	if !ok {
		return nil, false, workload.ErrUnknown
	}
	until, ended := r.now(), false
	if c.ended(until) {
		until, ended = c.EndsAt, true
	}
	var lines []protocol.LogLine
	for seq := from; ; seq++ {
		at := c.StartedAt.Add(time.Duration(seq) * time.Second)
		if at.After(until) {
			return lines, ended, nil
		}
		lines = append(lines, protocol.LogLine{Seq: seq, At: at, Stream: "stdout", Text: fmt.Sprintf("simulated: line %d of %s", seq, rental)})
	}
}

// save writes the containers where the next process finds them.
func (r *Runtime) save() error {
	if r.path == "" {
		return nil
	}
	b, err := json.Marshal(r.runs)
	if err != nil {
		return fmt.Errorf("simulated runtime: %w", err)
	}
	if err := os.WriteFile(r.path+".new", b, 0o600); err != nil {
		return fmt.Errorf("simulated runtime: %w", err)
	}
	if err := os.Rename(r.path+".new", r.path); err != nil {
		return fmt.Errorf("simulated runtime: %w", err)
	}
	return nil
}
