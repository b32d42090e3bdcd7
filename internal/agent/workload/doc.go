// Package workload holds the words that the agent and its runtimes share: what to run, what runs, and why something
// could not be run. It decides nothing.
package workload
