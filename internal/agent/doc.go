// Package agent is the loop of a host: what should be true (the platform's desired state), what is (the runtime's
// containers), what to do about the difference (Plan, pure), and what to tell (the heartbeat).
//
// It is level-triggered: hints, replies and heartbeats may be lost, repeated or late without harm. The containers are
// the truth of what runs; the journal holds only what containers can't tell: what was once started, and how it ended.
// A restart of the agent therefore adopts what runs. Nothing is ever ended because information is missing.
//
// The package knows neither Docker nor NATS: see guard, simruntime and uplink.
package agent
