package protocol

import "time"

// DesiredRequest asks for the whole desired state.
type DesiredRequest struct {
	Have int64 `json:"have"` // revision that the host has, for the platform's log
}

// Desired is all that should be true on a host at one revision.
type Desired struct {
	Revision  int64       `json:"revision"`
	Workloads []Workload  `json:"workloads"`
	Bench     *BenchOrder `json:"bench,omitempty"`
}

// Want is what the platform wants of a workload.
type Want string

// Running: start it if it never ran, leave it alone otherwise. Stopped: end it and remove its container.
const (
	WantRunning Want = "running"
	WantStopped Want = "stopped"
)

// Workload is one rental's container. The host composes every setting of it that isn't here.
type Workload struct {
	Rental  string            `json:"rental"`
	Want    Want              `json:"want"`
	Image   string            `json:"image"`
	Command []string          `json:"command"` // replaces the image's command, not its entrypoint; empty leaves it
	Env     map[string]string `json:"env"`
	GPUs    []string          `json:"gpus"` // UUIDs
	CPUs    float64           `json:"cpus"`
	RAMMiB  int64             `json:"ram_mib"`
	DiskMiB int64             `json:"disk_mib"`
}

// Phase is how far a workload has come on its host. Exited, Stopped and Failed are final.
type Phase string

// The phases.
const (
	PhasePulling  Phase = "pulling"
	PhaseCreating Phase = "creating"
	PhaseRunning  Phase = "running"
	PhaseExited   Phase = "exited"  // the workload ended by itself; ExitCode says how
	PhaseStopped  Phase = "stopped" // ended because the platform wanted it
	PhaseFailed   Phase = "failed"  // never ran; Code says why
	PhaseLost     Phase = "lost"    // it ran, and its container vanished without the agent's doing
)

// Final says whether a workload in this phase has ended for good.
func (p Phase) Final() bool {
	return p == PhaseExited || p == PhaseStopped || p == PhaseFailed || p == PhaseLost
}

// The codes of PhaseFailed.
const (
	FailImage   = "image_not_found" // no such image, or it can't be pulled
	FailCommand = "no_command"      // the image has nothing to run, or the command isn't in it
	FailRefused = "refused"         // the provider's guard refused it; Message says why
	FailEngine  = "engine"          // the container engine failed
)

// Status is one workload as the host sees it.
type Status struct {
	Rental    string     `json:"rental"`
	Phase     Phase      `json:"phase"`
	Code      string     `json:"code,omitempty"`
	Message   string     `json:"message,omitempty"` // for people, in English
	ExitCode  *int       `json:"exit_code,omitempty"`
	StartedAt *time.Time `json:"started_at,omitempty"` // host's clock
	// FinishedAt is when a workload that ran ended, by the host's clock; against Heartbeat.HostTime it says how long ago
	// that was. Missing where the host doesn't know: then it is when the platform hears of it.
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// LogLine is one line of a workload's output. Seq counts from 0 over the container's whole life and both streams, so
// that sending a line twice is harmless.
type LogLine struct {
	Seq    int64     `json:"seq"`
	At     time.Time `json:"at"` // host's clock
	Stream string    `json:"stream"`
	Text   string    `json:"text"`
}

// MaxLogText is the longest LogLine.Text in bytes; the agent cuts what is longer and says so.
const MaxLogText = 8 << 10

// LogChunk carries lines of one workload, in order.
type LogChunk struct {
	Rental string    `json:"rental"`
	Lines  []LogLine `json:"lines"`
}

// LogReply says which line the platform wants next: 0 for none yet. Negative stops the stream for good.
type LogReply struct {
	Next int64 `json:"next"`
}
