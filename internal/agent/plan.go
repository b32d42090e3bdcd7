package agent

import (
	"maps"
	"slices"
	"time"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

// View is all that a plan is made from.
type View struct {
	Now time.Time
	// Desired is what the platform wants; nil while it has said nothing to this process.
	Desired   *protocol.Desired
	FetchedAt time.Time // when Desired was asked for
	// Actual is what the runtime lists; Complete is false if it couldn't.
	Actual   []workload.State
	Complete bool
	Journal  map[string]Record
	// Busy holds the rentals with a deed under way; they are left alone.
	Busy map[string]bool
	// Orphans says since when a container has been unknown to the platform.
	Orphans map[string]time.Time
	Grace   time.Duration // for orphans
	// Measuring holds starts back: a benchmark has the GPUs.
	Measuring bool
}

// Deed is what is to be done about one rental.
type Deed string

// The deeds. Adopt, End and Forget only write the journal.
const (
	Adopt  Deed = "adopt"  // it runs, and the journal didn't know
	End    Deed = "end"    // it has ended: Status says how
	Forget Deed = "forget" // it has ended and the platform no longer asks
	Start  Deed = "start"
	Stop   Deed = "stop" // end it if it runs, and remove its container
)

// Action is one deed for one rental.
type Action struct {
	Deed   Deed
	Rental string
	Spec   workload.Spec   // of Start
	At     time.Time       // of Adopt: when it started
	Status protocol.Status // of End
}

// Plan compares what should be with what is. It is pure, and what it plans may be done in any order.
func Plan(v View) []Action {
	if !v.Complete {
		return nil // what isn't seen is not known to be gone
	}
	actual := map[string]workload.State{}
	for _, c := range v.Actual {
		actual[c.Rental] = c
	}
	wanted := map[string]protocol.Workload{}
	if v.Desired != nil {
		for _, w := range v.Desired.Workloads {
			wanted[w.Rental] = w
		}
	}
	all := map[string]bool{}
	for _, keys := range []func(func(string) bool){maps.Keys(actual), maps.Keys(wanted), maps.Keys(v.Journal)} {
		for k := range keys {
			all[k] = true
		}
	}
	var plan []Action
	for _, rental := range slices.Sorted(maps.Keys(all)) {
		if v.Busy[rental] {
			continue
		}
		c, exists := actual[rental]
		record := v.Journal[rental]
		if fact, ok := observe(rental, c, exists, &record); ok {
			plan = append(plan, fact)
		}
		if v.Desired == nil {
			continue // facts can be noted; deeds need somebody who wants them
		}
		w, known := wanted[rental]
		if !known {
			plan = append(plan, v.unwanted(rental, exists, record)...)
			continue
		}
		plan = append(plan, v.pursue(w, c, exists, record)...)
	}
	return plan
}

// observe notes what became of a workload, in the plan and in the record that the rest of the plan goes by.
func observe(rental string, c workload.State, exists bool, r *Record) (Action, bool) {
	if r.Ended != nil {
		return Action{}, false
	}
	end := func(s protocol.Status) (Action, bool) {
		s.Rental = rental
		if !r.StartedAt.IsZero() {
			at := r.StartedAt
			s.StartedAt = &at
		}
		r.Ended = &s
		return Action{Deed: End, Rental: rental, Status: s}, true
	}
	switch {
	case exists && c.Phase == workload.Running && !r.Started:
		r.Started, r.StartedAt = true, c.StartedAt
		return Action{Deed: Adopt, Rental: rental, At: c.StartedAt}, true
	case exists && c.Phase == workload.Exited:
		r.StartedAt = c.StartedAt
		code := c.ExitCode
		phase := protocol.PhaseExited
		if r.Stopping {
			phase = protocol.PhaseStopped
		}
		s := protocol.Status{Phase: phase, ExitCode: &code, Message: c.Note}
		if at := c.FinishedAt; !at.IsZero() {
			s.FinishedAt = &at
		}
		return end(s)
	case !exists && r.Started && r.Stopping:
		return end(protocol.Status{Phase: protocol.PhaseStopped})
	case !exists && r.Started:
		return end(protocol.Status{Phase: protocol.PhaseLost, Message: "the container was removed from the host, not by GPUnex"})
	}
	return Action{}, false
}

// pursue is what to do about a rental that the platform names.
func (v View) pursue(w protocol.Workload, c workload.State, exists bool, r Record) []Action {
	stop := []Action{{Deed: Stop, Rental: w.Rental}}
	switch w.Want {
	case protocol.WantStopped:
		if exists {
			return stop
		}
		if r.Ended == nil {
			return []Action{{Deed: End, Rental: w.Rental, Status: protocol.Status{Rental: w.Rental, Phase: protocol.PhaseStopped}}}
		}
	case protocol.WantRunning:
		if r.Ended != nil {
			if exists && c.Phase != workload.Exited {
				return stop // the platform was told that it has ended, and may have let its GPUs again
			}
			return nil // an ended container stays for its output until the platform wants it stopped
		}
		if exists && c.Phase != workload.Created {
			return nil
		}
		if v.Measuring || v.gpuTaken(w) {
			return nil // later: it will be free
		}
		return []Action{{Deed: Start, Rental: w.Rental, Spec: workload.SpecOf(w)}}
	}
	return nil // a word of a newer platform: leave everything as it is
}

// unwanted is what to do about a rental that the platform doesn't name.
func (v View) unwanted(rental string, exists bool, r Record) []Action {
	if !exists {
		if _, known := v.Journal[rental]; known && (r.Ended != nil || !r.Started) {
			return []Action{{Deed: Forget, Rental: rental}}
		}
		return nil
	}
	since, known := v.Orphans[rental]
	if !known {
		return nil
	}
	due := since.Add(v.Grace)
	if v.Now.Before(due) || v.FetchedAt.Before(due) {
		return nil // not long enough, or the platform hasn't said so again
	}
	return []Action{{Deed: Stop, Rental: rental}}
}

// gpuTaken says whether another container still holds one of the GPUs.
func (v View) gpuTaken(w protocol.Workload) bool {
	for _, c := range v.Actual {
		if c.Rental == w.Rental || c.Phase == workload.Exited {
			continue
		}
		for _, g := range w.GPUs {
			if slices.Contains(c.GPUs, g) {
				return true
			}
		}
	}
	return false
}
