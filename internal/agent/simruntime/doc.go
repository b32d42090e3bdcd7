// Package simruntime is the runtime of a host that runs nothing: workloads exist in memory and in one file, and behave
// as their image's name and command say. It lets a whole world of hosts live in one process, under virtual time.
//
//	image "…missing…"     there is no such image
//	image "…noshell…"     there is nothing to run in it
//	command sleep N       ends by itself after N seconds with 0
//	command exit N        ends at once with N
//
// Every running workload says one line a second.
package simruntime
