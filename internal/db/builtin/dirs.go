package builtin

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// longestSocket is what a Unix socket's address holds.
const longestSocket = 107

// realPath is dir without symbolic links, as the kernel will name it; its parent is made when missing.
func realPath(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("none was named")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if whole, err := filepath.EvalSymlinks(dir); err == nil {
		return whole, nil
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil { //nolint:gosec // the server's own user must be able to pass through
		return "", err
	}
	if parent, err = filepath.EvalSymlinks(parent); err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(dir)), nil
}

// credential is whom the server runs as: PostgreSQL refuses to run as root.
func credential(cfg Config) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	names := []string{cfg.RunAs}
	if cfg.RunAs == "" {
		if uid, gid, ok := owner(cfg.DataDir); ok && uid != 0 {
			return &syscall.Credential{Uid: uid, Gid: gid}, nil
		}
		names = []string{"postgres", "nobody"}
	}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
		if uerr == nil && gerr == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	// initdb refuses a user without a name, so an invented number won't do.
	return nil, fmt.Errorf("PostgreSQL doesn't run as root, and this machine has no user %q: useradd --system postgres", names[0])
}

func owner(path string) (uid, gid uint32, ok bool) {
	st, err := os.Stat(path)
	if err != nil {
		return 0, 0, false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return sys.Uid, sys.Gid, true
}

// makeRunDir makes the socket's folder. Its name follows from the data directory, so that each has its own.
func (s *Server) makeRunDir() error {
	base := s.cfg.RunDir
	if base == "" {
		base = os.TempDir()
		if os.Geteuid() == 0 && exists("/run") {
			base = "/run"
		}
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.cfg.DataDir))
	s.runDir = filepath.Join(base, fmt.Sprintf("gpunex-pg-%08x", h.Sum32()))
	if n := len(s.runDir) + len("/.s.PGSQL.5432"); n > longestSocket {
		return fmt.Errorf("the socket's path %s has %d bytes, and %d is the most", s.runDir, n, longestSocket)
	}
	return own(s.runDir, s.cred)
}

// own makes a folder that only the server's user can enter.
func own(dir string, cred *syscall.Credential) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if st, err := os.Lstat(dir); err != nil || !st.IsDir() { // a link that somebody put there must not be followed
		return fmt.Errorf("%s must be a folder: %w", dir, errors.Join(err, syscall.ENOTDIR))
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a folder without x can't be entered
		return err
	}
	if cred == nil {
		return nil
	}
	return os.Chown(dir, int(cred.Uid), int(cred.Gid))
}

// checkPath looks whether the server's user can pass through all folders above its data.
func checkPath(dir string, cred *syscall.Credential) error {
	if cred == nil {
		return nil
	}
	for p := filepath.Dir(dir); p != "/"; p = filepath.Dir(p) {
		st, err := os.Stat(p)
		if err != nil {
			return err
		}
		if uid, _, _ := owner(p); uid != cred.Uid && st.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("the database runs as user %d, who can't pass through %s: chmod o+x %s, or choose another data directory, as /var/lib/gpunex", cred.Uid, p, p)
		}
	}
	return nil
}
