// Package e2e follows the provider guide word by word in a real browser, against real programs.
package e2e
