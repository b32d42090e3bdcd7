package fleet

import (
	"strconv"
	"time"

	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/protocol"
)

func tokenUnknown() error {
	return fault.New(fault.NotFound, "token_unknown", "This enrolment token isn't known. Copy it again from the page Install the agent")
}

func tokenExpired(at time.Time) error {
	return fault.New(fault.Forbidden, "token_expired", "This enrolment token expired on {date}. Make a new one on the page Install the agent",
		"date", at.UTC().Format(time.DateOnly))
}

func tokenRevoked() error {
	return fault.New(fault.Forbidden, "token_revoked", "This enrolment token was revoked. Make a new one on the page Install the agent")
}

func tokenUsed(hosts int) error {
	return fault.New(fault.Conflict, "token_used", "This enrolment token has enrolled all of its {n} hosts. Make a new one on the page Install the agent",
		"n", strconv.Itoa(hosts))
}

func hostsFull(hosts int) error {
	return fault.New(fault.Conflict, "hosts_full", "This provider is approved for {n} hosts and has them all. Ask us to raise the number", "n", strconv.Itoa(hosts))
}

func keyTaken() error {
	return fault.New(fault.Conflict, "key_taken", "This host's key belongs to a host of another provider. Remove the agent's data on this machine and enrol it again")
}

func keyInvalid() error {
	return fault.New(fault.Invalid, "key_invalid", "The host's public key can't be read. Install the newest agent and enrol again")
}

func hostNotFound() error {
	return fault.New(fault.NotFound, "host_not_found", "There is no such host")
}

func gpuNotFound() error { return fault.New(fault.NotFound, "gpu_not_found", "There is no such GPU") }

func tokenNotFound() error {
	return fault.New(fault.NotFound, "token_not_found", "There is no such enrolment token")
}

// CheckPeer gives the fault protocol_old or clock_off of a host that the platform can't talk to.
func CheckPeer(now time.Time, version int, hostTime time.Time) error {
	if f := checkPeer(now, version, hostTime); f != nil {
		return f
	}
	return nil
}

// checkPeer refuses an agent that is too old to talk to, or whose clock would make its credentials and logs wrong.
func checkPeer(now time.Time, version int, hostTime time.Time) *fault.Fault {
	if version < protocol.MinVersion {
		return fault.New(fault.Invalid, "protocol_old", "This agent speaks version {have} of the protocol and the platform needs {need}. Install the newest agent",
			"have", strconv.Itoa(version), "need", strconv.Itoa(protocol.MinVersion))
	}
	const limit = protocol.MaxClockSkew * time.Millisecond
	if off := hostTime.Sub(now).Abs(); off > limit {
		return fault.New(fault.Invalid, "clock_off", "The host's clock is off by {off}; up to {limit} is fine. Turn on time synchronisation on the host, as in timedatectl set-ntp true",
			"off", off.Round(time.Second).String(), "limit", limit.String())
	}
	return nil
}
