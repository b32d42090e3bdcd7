// Package uplink connects a host with the platform, outbound only: enrolment and renewal over HTTP, everything else as
// requests on NATS. The host's key pair is made here and its private half never leaves the state directory.
package uplink
