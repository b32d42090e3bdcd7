package hardware

import (
	"context"
	"errors"

	"github.com/gpunex/gpunex/internal/protocol"
)

// Driver tells of a host's GPUs.
type Driver interface {
	// Detect lists the devices, with the versions of the driver and of the CUDA that it supports.
	Detect(ctx context.Context) (gpus []protocol.GPU, driver, cuda string, err error)
	// Sample measures each device that answers.
	Sample(ctx context.Context) ([]protocol.Telemetry, error)
}

// ErrNoDriver is what a host without a profile hears for now.
var ErrNoDriver = errors.New("this build can't read real GPUs yet: start the agent with --simulate FILE, " +
	"a profile of simulated GPUs, or with --simulate MODELxCOUNT, as in --simulate h100-sxmx2 or h100x2")
