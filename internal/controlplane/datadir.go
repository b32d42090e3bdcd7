package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// errInUse says that another process runs the platform of this data directory.
var errInUse = errors.New("another gpunexd runs on this data directory")

// lockDataDir makes sure that one process at a time runs the built-in database. The kernel drops the lock with the
// process, however it ends.
func lockDataDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the database's own user must be able to pass through
		return nil, fmt.Errorf("data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%w (%s)", errInUse, dir)
	}
	return f, nil
}

func urlFile(dir string) string { return filepath.Join(dir, "database-url") }

// saveURL tells commands on the same machine where the running platform's database is.
func saveURL(dir, url string) error {
	return os.WriteFile(urlFile(dir), []byte(url+"\n"), 0o600)
}

func savedURL(dir string) (string, error) {
	b, err := os.ReadFile(urlFile(dir))
	return strings.TrimSpace(string(b)), err
}
