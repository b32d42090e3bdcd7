package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func want(rental string, w protocol.Want, gpus ...string) protocol.Workload {
	return protocol.Workload{Rental: rental, Want: w, Image: "a", GPUs: gpus}
}

func desired(ws ...protocol.Workload) *protocol.Desired {
	return &protocol.Desired{Revision: 1, Workloads: ws}
}

func has(rental string, p workload.Phase, gpus ...string) workload.State {
	s := workload.State{Rental: rental, Phase: p, GPUs: gpus, StartedAt: noon.Add(-time.Hour)}
	if p == workload.Exited {
		s.ExitCode = 3
	}
	return s
}

func ended(p protocol.Phase) Record {
	return Record{Intended: true, Started: p != protocol.PhaseFailed, Ended: &protocol.Status{Rental: "a", Phase: p}}
}

func short(plan []Action) string {
	var s []string
	for _, a := range plan {
		word := fmt.Sprintf("%s %s", a.Deed, a.Rental)
		if a.Deed == End {
			word += " " + string(a.Status.Phase)
		}
		s = append(s, word)
	}
	return strings.Join(s, ", ")
}

func TestPlan(t *testing.T) {
	const run, stop = protocol.WantRunning, protocol.WantStopped
	intended, started := Record{Intended: true}, Record{Intended: true, Started: true, StartedAt: noon}
	stopping := Record{Intended: true, Started: true, StartedAt: noon, Stopping: true}
	type records = map[string]Record
	type states = []workload.State
	for name, c := range map[string]struct {
		view View
		want string
	}{
		"nothing":                              {View{Desired: desired()}, ""},
		"wanted and never ran":                 {View{Desired: desired(want("a", run))}, "start a"},
		"wanted and runs":                      {View{Desired: desired(want("a", run)), Actual: states{has("a", workload.Running)}, Journal: records{"a": started}}, ""},
		"intended, crashed before the create":  {View{Desired: desired(want("a", run)), Journal: records{"a": intended}}, "start a"},
		"intended, created, not started":       {View{Desired: desired(want("a", run)), Actual: states{has("a", workload.Created)}, Journal: records{"a": intended}}, "start a"},
		"intended, crashed after the start":    {View{Desired: desired(want("a", run)), Actual: states{has("a", workload.Running)}, Journal: records{"a": intended}}, "adopt a"},
		"runs, journal lost":                   {View{Desired: desired(want("a", run)), Actual: states{has("a", workload.Running)}}, "adopt a"},
		"ran to its end":                       {View{Desired: desired(want("a", run)), Actual: states{has("a", workload.Exited)}, Journal: records{"a": started}}, "end a exited"},
		"ran to its end, noted":                {View{Desired: desired(want("a", run)), Actual: states{has("a", workload.Exited)}, Journal: records{"a": ended(protocol.PhaseExited)}}, ""},
		"ended and gone never runs again":      {View{Desired: desired(want("a", run)), Journal: records{"a": ended(protocol.PhaseExited)}}, ""},
		"failed never runs again":              {View{Desired: desired(want("a", run)), Journal: records{"a": ended(protocol.PhaseFailed)}}, ""},
		"container vanished":                   {View{Desired: desired(want("a", run)), Journal: records{"a": started}}, "end a lost"},
		"lost and found again":                 {View{Desired: desired(want("a", run)), Actual: states{has("a", workload.Running)}, Journal: records{"a": ended(protocol.PhaseLost)}}, "stop a"},
		"wanted stopped and runs":              {View{Desired: desired(want("a", stop)), Actual: states{has("a", workload.Running)}, Journal: records{"a": started}}, "stop a"},
		"wanted stopped, crashed in the stop":  {View{Desired: desired(want("a", stop)), Actual: states{has("a", workload.Exited)}, Journal: records{"a": stopping}}, "end a stopped, stop a"},
		"wanted stopped, removed, not noted":   {View{Desired: desired(want("a", stop)), Journal: records{"a": stopping}}, "end a stopped"},
		"wanted stopped and had ended":         {View{Desired: desired(want("a", stop)), Actual: states{has("a", workload.Exited)}, Journal: records{"a": started}}, "end a exited, stop a"},
		"wanted stopped and never ran":         {View{Desired: desired(want("a", stop))}, "end a stopped"},
		"wanted stopped and done":              {View{Desired: desired(want("a", stop)), Journal: records{"a": ended(protocol.PhaseStopped)}}, ""},
		"a newer word is left alone":           {View{Desired: desired(want("a", "paused")), Actual: states{has("a", workload.Running)}, Journal: records{"a": started}}, ""},
		"busy is left alone":                   {View{Desired: desired(want("a", stop)), Actual: states{has("a", workload.Running)}, Busy: map[string]bool{"a": true}}, ""},
		"busy doesn't hold others":             {View{Desired: desired(want("a", run), want("b", run)), Busy: map[string]bool{"a": true}}, "start b"},
		"GPU still held":                       {View{Desired: desired(want("b", run, "g1")), Actual: states{has("a", workload.Running, "g1")}, Journal: records{"a": started}}, ""},
		"GPU held by one that ended":           {View{Desired: desired(want("b", run, "g1")), Actual: states{has("a", workload.Exited, "g1")}, Journal: records{"a": ended(protocol.PhaseExited)}}, "start b"},
		"stop before the next start":           {View{Desired: desired(want("a", stop), want("b", run, "g1")), Actual: states{has("a", workload.Running, "g1")}, Journal: records{"a": started}}, "stop a"},
		"a benchmark holds starts":             {View{Desired: desired(want("a", run)), Measuring: true}, ""},
		"no word yet: facts only":              {View{Actual: states{has("a", workload.Running), has("b", workload.Exited)}, Journal: records{"b": started, "c": started}}, "adopt a, end b exited, end c lost"},
		"no word yet: nothing starts or stops": {View{Actual: states{has("a", workload.Created)}, Journal: records{"a": intended, "b": intended}}, ""},
		"orphan, new":                          {View{Desired: desired(), Actual: states{has("a", workload.Running)}, Journal: records{"a": started}, FetchedAt: noon, Orphans: map[string]time.Time{"a": noon}}, ""},
		"orphan in its grace":                  {View{Desired: desired(), Actual: states{has("a", workload.Running)}, Journal: records{"a": started}, FetchedAt: noon, Orphans: map[string]time.Time{"a": noon.Add(-59 * time.Second)}}, ""},
		"orphan, platform not asked again":     {View{Desired: desired(), Actual: states{has("a", workload.Running)}, Journal: records{"a": started}, FetchedAt: noon.Add(-2 * time.Minute), Orphans: map[string]time.Time{"a": noon.Add(-2 * time.Minute)}}, ""},
		"orphan, due":                          {View{Desired: desired(), Actual: states{has("a", workload.Running)}, Journal: records{"a": started}, FetchedAt: noon, Orphans: map[string]time.Time{"a": noon.Add(-time.Minute)}}, "stop a"},
		"dropped and gone":                     {View{Desired: desired(), Journal: records{"a": ended(protocol.PhaseStopped), "b": intended}}, "forget a, forget b"},
		"dropped, vanished":                    {View{Desired: desired(), Journal: records{"a": started}}, "end a lost, forget a"},
	} {
		c.view.Complete, c.view.Now, c.view.Grace = true, noon, time.Minute
		if got := short(Plan(c.view)); got != c.want {
			t.Errorf("%s: planned %q, want %q", name, got, c.want)
		}
		c.view.Complete = false
		if got := Plan(c.view); len(got) > 0 {
			t.Errorf("%s: planned %q without seeing the containers", name, short(got))
		}
	}
}

func TestPlanTellsHowItEnded(t *testing.T) {
	c := has("a", workload.Exited)
	c.Note, c.FinishedAt = "out of memory", noon.Add(-time.Minute)
	plan := Plan(View{Complete: true, Actual: []workload.State{c}, Journal: map[string]Record{"a": {Started: true, StartedAt: noon}}})
	if len(plan) != 1 {
		t.Fatal(short(plan))
	}
	s := plan[0].Status
	if s.ExitCode == nil || *s.ExitCode != 3 || s.Message != "out of memory" || s.StartedAt == nil || !s.StartedAt.Equal(c.StartedAt) ||
		s.FinishedAt == nil || !s.FinishedAt.Equal(c.FinishedAt) {
		t.Errorf("status %+v", s)
	}
}
