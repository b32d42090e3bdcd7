// Package rental lets GPUs: it starts, meters, settles and ends rentals, and keeps what their workloads say.
//
// A rental is a row that only its own lock changes. Everything that happens to it (a click, a heartbeat, time) is one
// transaction: the claims on GPUs, the money, the state and the host's new revision change together or not at all.
//
// Time is metered on the platform's clock, from what heartbeats confirm (meter.go). A stretch between two of them counts
// only if it is short enough; billed time never exceeds what the hold covers, so that no account can go below zero.
// Money is settled from cumulative time (settle.go), so that the sum is exact whatever the stretches were.
//
// Why a rental ended is a closed set, and each reason is attributed (reason.go). What isn't known punishes nobody: a
// heartbeat that doesn't name a rental ends nothing by itself, and a platform that was away itself waits before it
// calls a host lost.
//
// What it isn't: it runs nothing and talks to no host; a host fetches [Service.Desired] and tells [Service.Observe].
// Crediting the last minutes before a provider's fault, and schedules with an end (window_ended), come later.
package rental
