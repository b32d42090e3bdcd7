// Package controlplane puts the platform together: every part is named once, in New, and everything long-lived runs in
// one group until its context ends.
package controlplane
