package workload

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/gpunex/gpunex/internal/protocol"
)

// Spec is all that may be said of a container. The runtime composes every other setting itself.
type Spec struct {
	Rental  string            `json:"rental"`
	Image   string            `json:"image"`
	Command []string          `json:"command,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	GPUs    []string          `json:"gpus,omitempty"`
	CPUs    float64           `json:"cpus"`
	RAMMiB  int64             `json:"ram_mib"`
	DiskMiB int64             `json:"disk_mib"`
}

// SpecOf is what the platform wants, without whether it wants it.
func SpecOf(w protocol.Workload) Spec {
	return Spec{
		Rental: w.Rental, Image: w.Image, Command: w.Command, Env: w.Env, GPUs: w.GPUs,
		CPUs: w.CPUs, RAMMiB: w.RAMMiB, DiskMiB: w.DiskMiB,
	}
}

// Phase is how far a container has come.
type Phase string

// The phases of a container.
const (
	Created Phase = "created" // exists and was never started
	Running Phase = "running"
	Exited  Phase = "exited"
)

// State is one container as its runtime sees it.
type State struct {
	Rental     string    `json:"rental"`
	Phase      Phase     `json:"phase"`
	ExitCode   int       `json:"exit_code"`
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`
	Image      string    `json:"image"`
	GPUs       []string  `json:"gpus"`
	// Note says what the runtime knows of an end that an exit code doesn't tell, for people.
	Note string `json:"note,omitempty"`
}

// Info is what a runtime knows of the machine that it runs on.
type Info struct {
	Runtime   string   `json:"runtime"` // "docker" or "simulated"
	Version   string   `json:"version"`
	Isolation []string `json:"isolation"` // strongest last
	CPUs      int      `json:"cpus"`
	RAMMiB    int64    `json:"ram_mib"`
	DiskMiB   int64    `json:"disk_mib"` // free
	Kernel    string   `json:"kernel"`
}

// Mark is a place in a workload's output. After is the time of the line before Next where it is known: engines throw
// old output away, and a line can then be found by its time but no longer by counting.
type Mark struct {
	Next  int64     `json:"next"`
	After time.Time `json:"after"`
}

// Error is a runtime's answer that a workload can't be run. Code is one of protocol.Fail*.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Failf makes an Error.
func Failf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ErrAway says that the runtime gave no answer at all: nothing is known, so nothing may be concluded.
var ErrAway = errors.New("the container engine is away")

// ErrUnknown says that there is no such workload here, or that it is somebody else's container.
var ErrUnknown = errors.New("no such workload")

var rentalID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// ValidRental says whether an identifier may name a container and a file.
func ValidRental(id string) bool { return rentalID.MatchString(id) }

// CutText cuts a line of output to the protocol's length, and says so in its last bytes.
func CutText(s string) string {
	if len(s) <= protocol.MaxLogText {
		return s
	}
	const mark = " … (line cut)"
	end := protocol.MaxLogText - len(mark)
	for end > 0 && s[end]&0xC0 == 0x80 {
		end-- // not inside of a character
	}
	return s[:end] + mark
}
