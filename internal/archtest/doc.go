// Package archtest holds the architecture as a table that a test enforces: which package may import which, and a few
// house rules that compilers don't know.
package archtest
