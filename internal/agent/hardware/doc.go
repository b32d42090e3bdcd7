// Package hardware tells which GPUs a host has and how they do. Driver is what the agent sees; Simulated reads them from
// a profile, and everything that it tells is marked as simulated.
package hardware
