package rental

import "github.com/gpunex/gpunex/internal/protocol"

// Reasons gives the closed set, in the order of the contract.
func Reasons() []Reason {
	return []Reason{
		StoppedByCustomer, Completed, WorkloadFailed, FundsExhausted, MaximumReached, WindowEnded,
		ProviderStopped, HostOffline, GPUFault, HostFault, ImageCannotStart, PlatformFault,
	}
}

// Attribution says to whom an end is attributed: customer, provider, platform or nobody. It is empty for what is no
// reason, which the database refuses.
func (r Reason) Attribution() string {
	switch r {
	case StoppedByCustomer, Completed, WorkloadFailed, FundsExhausted, MaximumReached, ImageCannotStart:
		return "customer"
	case ProviderStopped, HostOffline, GPUFault, HostFault:
		return "provider"
	case PlatformFault:
		return "platform"
	case WindowEnded:
		return "nobody"
	}
	return ""
}

// endReason says why a rental ended whose workload reports a final phase. What was asked to stop ends for the reason
// that it was asked for, however it went down.
func endReason(state State, stop Reason, st protocol.Status) Reason {
	if state == Stopping {
		return stop
	}
	switch st.Phase {
	case protocol.PhaseExited:
		if st.ExitCode != nil && *st.ExitCode != 0 {
			return WorkloadFailed
		}
		return Completed
	case protocol.PhaseFailed:
		if state == Starting && (st.Code == protocol.FailImage || st.Code == protocol.FailCommand) {
			return ImageCannotStart
		}
		return HostFault
	case protocol.PhaseStopped, protocol.PhaseLost, protocol.PhasePulling, protocol.PhaseCreating, protocol.PhaseRunning:
	}
	return HostFault // the host ended it, and nobody had asked for it
}
