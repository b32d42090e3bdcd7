// Package protocol holds every message between a host's agent and the platform, and nothing else. Both halves import
// it; neither imports the other.
//
// A host publishes on subjects a.<host>.* and listens on c.<host>.*; its credential allows nothing more. Each message
// on a.<host>.* is a request with a reply. Messages may be lost, repeated or late without harm: the platform says what
// should be true with a revision, the host reports what is, and both sides compare.
package protocol

// Version is the protocol that this build speaks. It grows by one with each change that the other side must know of.
//
//	1 (2026-12-01)  first version
const Version = 1

// MinVersion is the oldest agent that the platform still talks to.
const MinVersion = 1

// MaxClockSkew is how far a host's clock may be off before the platform refuses it, in milliseconds: credentials
// expire by the clock, and logs would lie.
const MaxClockSkew = 120_000

// The subjects. Host is the host's identifier.
func HelloSubject(host string) string     { return "a." + host + ".hello" }
func HeartbeatSubject(host string) string { return "a." + host + ".hb" }
func DesiredSubject(host string) string   { return "a." + host + ".desired" }
func LogSubject(host string) string       { return "a." + host + ".log" }
func CommitSubject(host string) string    { return "a." + host + ".bench.commit" }
func ResultSubject(host string) string    { return "a." + host + ".bench.result" }

// HintSubject is where the platform tells a host that its desired state has changed; the payload is empty and losing
// it costs one heartbeat interval.
func HintSubject(host string) string { return "c." + host + ".desired" }
