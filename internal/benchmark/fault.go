package benchmark

import (
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/protocol"
)

func refuse(code, text string) *protocol.Refusal { return &protocol.Refusal{Code: code, Text: text} }

func runUnknown() *protocol.Refusal {
	return refuse("run_unknown", "The platform asked this host for no such benchmark")
}

func runOver() *protocol.Refusal {
	return refuse("run_over", "This benchmark is over; the platform asks for another when it wants one")
}

func notCommitted() *protocol.Refusal {
	return refuse("run_not_committed", "This benchmark has no commitment yet: commit to the products first")
}

func commitChanged() *protocol.Refusal {
	return refuse("commit_changed", "This host has committed to other products already; a commitment can't be changed")
}

func commitWrong() *protocol.Refusal {
	return refuse("commit_wrong", "The commitment isn't one root of 32 bytes per round for GPUs of this host")
}

func reasonUnknown(reason string) error {
	return fault.New(fault.Invalid, "benchmark_reason", "“{reason}” is no reason for a benchmark", "reason", reason)
}
