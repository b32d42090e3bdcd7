// Package worker holds the table of everything that happens by the clock, and runs it with River: one process of many
// does each pass, and a pass that fails is tried again.
//
// Every task is level-triggered: it looks at what is due now, so a pass that was missed costs nothing but its delay.
package worker
