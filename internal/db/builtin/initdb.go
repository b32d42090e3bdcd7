package builtin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// initdb makes the data directory: beside its place, then renamed, so that it is there whole or not at all.
func (s *Server) initdb(ctx context.Context) error {
	fresh := s.cfg.DataDir + ".new"
	if exists(fresh) {
		s.cfg.Log.Warn("removing what a killed initdb left", "dir", fresh)
		if err := s.evict(ctx, fresh); err != nil {
			return err
		}
		if err := os.RemoveAll(fresh); err != nil {
			return fmt.Errorf("half-made data directory: %w", err)
		}
	}
	if err := own(fresh, s.cred); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	args := []string{
		"-D", fresh, "-U", role, "-E", "UTF8", "--locale=C.UTF-8", "--no-instructions",
		"--auth-local=trust", "--auth-host=reject", // the only way in is a socket in a folder that only its user can enter
	}
	if s.cfg.Ephem {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.binDir, "initdb"), args...) //nolint:gosec // a server program of this machine
	cmd.Env, cmd.Dir = s.env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // Pdeathsig is sent when the thread that started it ends
	out, err := cmd.CombinedOutput()
	runtime.UnlockOSThread()
	if err != nil {
		_ = os.RemoveAll(fresh)
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(fresh, s.cfg.DataDir); err != nil { // an empty folder in its place is replaced
		return fmt.Errorf("data directory (it must not be a mount point itself): %w", err)
	}
	return s.sync(filepath.Dir(s.cfg.DataDir))
}

// sync makes a rename survive a crash of the machine.
func (s *Server) sync(dir string) error {
	if s.cfg.Ephem {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}
