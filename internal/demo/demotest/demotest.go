// Package demotest gives tests that run whole programs what they start from: the built programs and free ports.
package demotest

import (
	"net"
	"os"
	"os/exec"
	"testing"
)

// Programs gives the folder of gpunexd and gpunex-agent. `make test` builds them once, in GPUNEX_BIN; a plain `go test`
// builds them itself.
func Programs(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("GPUNEX_BIN"); dir != "" {
		return dir
	}
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/", "github.com/gpunex/gpunex/cmd/gpunexd", "github.com/gpunex/gpunex/cmd/gpunex-agent").CombinedOutput() //nolint:gosec // our own programs
	if err != nil {
		t.Fatalf("build the programs: %v\n%s", err, out)
	}
	return dir
}

// Address is one on loopback that nobody listens on at this moment.
func Address(t testing.TB) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}
