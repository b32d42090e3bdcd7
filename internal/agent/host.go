package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/gpunex/gpunex/internal/agent/bench"
	"github.com/gpunex/gpunex/internal/agent/hardware"
	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

const (
	lookEvery     = 2 * time.Second  // between looks at the containers
	usualInterval = 10 * time.Second // between heartbeats until the platform says otherwise
	detectEvery   = time.Minute      // between looks for devices that came or went
	retryAfter    = 5 * time.Second  // before a deed is tried again that the engine gave no answer to
	refusedWait   = 30 * time.Second // before a platform that refused this host is asked again
	usualGrace    = time.Minute      // before a container that the platform doesn't know is removed
)

// Config is all that a host's loop needs.
type Config struct {
	Version  string
	StateDir string // empty: nothing is kept over a restart
	Runtime  Runtime
	// Info tells of the machine under the runtime.
	Info   func(context.Context) (workload.Info, error)
	Driver hardware.Driver
	Meter  bench.Meter
	// Simulated says that the driver's GPUs exist only in a profile.
	Simulated bool
	Link      Link
	Grace     time.Duration // for orphans; 0 for the usual minute
	Now       func() time.Time
	Log       *slog.Logger
}

// Host is the loop of one host. Run drives it by the clock; Tick does one pass, for simulators and tests.
type Host struct {
	Config
	journal *Journal
	wake    chan struct{}
	deeds   sync.WaitGroup

	// Of the loop alone.
	desired   *protocol.Desired
	fetchedAt time.Time
	hardware  *protocol.Hardware
	detected  time.Time
	orphans   map[string]time.Time
	beatAt    time.Time
	told      []protocol.Status // by the last heartbeat
	toldAll   bool
	applied   int64
	greeted   bool // once, by this process

	mu        sync.Mutex // guards what follows
	busy      map[string]*deed
	retry     map[string]retry
	shipping  map[string]*shipment
	interval  time.Duration
	revision  int64 // newest that the platform told of
	mustFetch bool
	mustGreet bool
	measuring *measurement
	measured  string // the last run that has been answered
	benchAt   time.Time
}

// deed is an action under way.
type deed struct {
	kind   Deed
	cancel context.CancelFunc
	phase  protocol.Phase // of a start
}

// retry holds a deed back that failed a moment ago.
type retry struct {
	kind Deed
	at   time.Time
}

type measurement struct {
	run    string
	cancel context.CancelCauseFunc
}

// New makes a Host and reads its journal.
func New(c Config) (*Host, error) {
	if c.Grace == 0 {
		c.Grace = usualGrace
	}
	j, err := OpenJournal(c.StateDir)
	if err != nil {
		return nil, err
	}
	return &Host{
		Config: c, journal: j, wake: make(chan struct{}, 1), orphans: map[string]time.Time{},
		busy: map[string]*deed{}, retry: map[string]retry{}, shipping: map[string]*shipment{},
		interval: usualInterval, mustGreet: true,
	}, nil
}

// Close ends the journal. Workloads run on.
func (h *Host) Close() error { return h.journal.Close() }

// Hint says that the platform has something new.
func (h *Host) Hint() {
	h.mu.Lock()
	h.mustFetch = true
	h.mu.Unlock()
	h.rouse()
}

// Reconnected says that the link was made anew: the host introduces itself again.
func (h *Host) Reconnected() {
	h.mu.Lock()
	h.mustGreet, h.mustFetch = true, true
	h.mu.Unlock()
	h.rouse()
}

func (h *Host) rouse() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Run loops until ctx ends. It returns an error only if the platform refuses this host from the start; later refusals
// and every other trouble are logged and tried again, because ending the agent would help nobody.
func (h *Host) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer h.deeds.Wait()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-h.wake:
		}
		err := h.pass(ctx, h.Now(), false)
		var refusal *protocol.Refusal
		if errors.As(err, &refusal) && !h.greeted {
			return refusal
		}
		said = h.complain(ctx, err, said)
		if refusal != nil {
			timer.Reset(refusedWait)
		} else {
			timer.Reset(lookEvery)
		}
	}
}

// complain logs a pass's trouble once, and once more when it is over.
func (h *Host) complain(ctx context.Context, err error, said string) string {
	switch {
	case ctx.Err() != nil:
		return said
	case err == nil && said != "":
		h.Log.Info("pass_complete_again")
		return ""
	case err == nil || err.Error() == said:
		return said
	}
	h.Log.Warn("pass_incomplete", "error", err)
	return err.Error()
}

// Tick does one pass, and a second if the platform then has something new. Every deed is done when it returns.
func (h *Host) Tick(ctx context.Context, now time.Time) error {
	if err := h.pass(ctx, now, true); err != nil {
		return err
	}
	if !h.stale() {
		return nil
	}
	return h.pass(ctx, now, true)
}

// stale says whether the platform has something newer than what this host has.
func (h *Host) stale() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mustFetch || h.desired == nil || h.desired.Revision != h.revision
}

// pass looks, asks, plans, acts and tells. With inline every deed ends before it returns; otherwise deeds go on by
// themselves and rouse the loop when they have something to tell.
func (h *Host) pass(ctx context.Context, now time.Time, inline bool) error {
	busy := h.busyRentals(now) // before the look: what ends meanwhile was seen half done
	actual, lookErr := h.Runtime.List(ctx)
	if lookErr != nil {
		lookErr = fmt.Errorf("look at containers: %w", lookErr)
	}
	greetErr := h.greet(ctx, now)
	if refusal := (*protocol.Refusal)(nil); errors.As(greetErr, &refusal) {
		return greetErr // refused: nothing that the platform could say now counts
	}
	fetchErr := h.fetch(ctx, now)
	if lookErr == nil {
		h.noteOrphans(actual, now)
		h.dropCancelled()
		view := View{
			Now: now, Desired: h.desired, FetchedAt: h.fetchedAt, Actual: actual, Complete: true, Journal: h.journal.Records(),
			Busy: busy, Orphans: h.orphans, Grace: h.Grace, Measuring: h.isMeasuring(),
		}
		plan := Plan(view)
		if err := h.act(ctx, plan, now, inline); err != nil {
			return err
		}
		if h.desired != nil {
			h.applied = h.desired.Revision
			h.measure(ctx, actual, now, inline)
		}
		if !inline {
			h.ship(ctx, actual)
		}
	}
	beatErr := h.beat(ctx, now, lookErr == nil, inline)
	return errors.Join(lookErr, greetErr, fetchErr, beatErr)
}

// greet introduces the host when the platform must know it anew: after a connection, or when its hardware has changed.
func (h *Host) greet(ctx context.Context, now time.Time) error {
	h.mu.Lock()
	must := h.mustGreet
	h.mu.Unlock()
	if !must && now.Sub(h.detected) < detectEvery {
		return nil
	}
	seen, err := h.detect(ctx)
	if err != nil {
		return err
	}
	h.detected = now
	if !must && h.hardware != nil && sameHardware(*h.hardware, seen) {
		return nil
	}
	reply, err := h.Link.Hello(ctx, protocol.Hello{
		Protocol: protocol.Version, AgentVersion: h.Version, HostTime: now, Hardware: seen,
	})
	if err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	if reply.Refusal != nil {
		h.mu.Lock()
		h.mustGreet = true
		h.mu.Unlock()
		return reply.Refusal
	}
	h.hardware, h.greeted = &seen, true
	h.mu.Lock()
	h.mustGreet, h.revision = false, reply.Revision
	h.mu.Unlock()
	h.setInterval(reply.IntervalMS)
	h.Log.Info("greeted", "gpus", len(seen.GPUs), "revision", reply.Revision)
	return nil
}

func sameHardware(a, b protocol.Hardware) bool {
	a.DiskMiB, b.DiskMiB = 0, 0 // it changes all the time
	return reflect.DeepEqual(a, b)
}

func (h *Host) detect(ctx context.Context) (protocol.Hardware, error) {
	gpus, driver, cuda, err := h.Driver.Detect(ctx)
	if err != nil {
		return protocol.Hardware{}, fmt.Errorf("detect GPUs: %w", err)
	}
	info, err := h.Info(ctx)
	if err != nil {
		return protocol.Hardware{}, fmt.Errorf("ask the runtime about the machine: %w", err)
	}
	return protocol.Hardware{
		Simulated: h.Simulated, GPUs: gpus, Driver: driver, CUDA: cuda,
		CPUs: info.CPUs, RAMMiB: info.RAMMiB, DiskMiB: info.DiskMiB, Kernel: info.Kernel,
		Runtime: info.Runtime, RuntimeVersion: info.Version, Isolation: info.Isolation,
	}, nil
}

func (h *Host) setInterval(ms int64) {
	if ms <= 0 {
		return
	}
	h.mu.Lock()
	h.interval = min(max(time.Duration(ms)*time.Millisecond, time.Second), 5*time.Minute)
	h.mu.Unlock()
}

// fetch asks for the desired state if there is a newer one, or if an orphan is due and the platform must say so again.
func (h *Host) fetch(ctx context.Context, now time.Time) error {
	if !h.stale() && !h.orphanDue(now) {
		return nil
	}
	h.mu.Lock()
	h.mustFetch = false // a hint that comes from here on asks again
	h.mu.Unlock()
	var have int64
	if h.desired != nil {
		have = h.desired.Revision
	}
	d, err := h.Link.Desired(ctx, protocol.DesiredRequest{Have: have})
	if err != nil {
		h.mu.Lock()
		h.mustFetch = true
		h.mu.Unlock()
		return fmt.Errorf("ask for the desired state: %w", err)
	}
	h.desired, h.fetchedAt = &d, now
	h.mu.Lock()
	h.revision = d.Revision
	h.mu.Unlock()
	return nil
}

// noteOrphans keeps since when each container has been unknown to the platform.
func (h *Host) noteOrphans(actual []workload.State, now time.Time) {
	if h.desired == nil {
		return
	}
	known := map[string]bool{}
	for _, w := range h.desired.Workloads {
		known[w.Rental] = true
	}
	orphans := map[string]time.Time{}
	for _, c := range actual {
		if known[c.Rental] {
			continue
		}
		orphans[c.Rental] = now
		if since, ok := h.orphans[c.Rental]; ok {
			orphans[c.Rental] = since
		}
	}
	h.orphans = orphans
}

func (h *Host) orphanDue(now time.Time) bool {
	for _, since := range h.orphans {
		due := since.Add(h.Grace)
		if !now.Before(due) && h.fetchedAt.Before(due) {
			return true
		}
	}
	return false
}
