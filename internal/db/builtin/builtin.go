// Package builtin runs a private PostgreSQL for a self-hosted platform on one machine.
// It finds server binaries on this host, runs them as an unprivileged uid when
// the process is root, listens on a private unix socket only, and never
// outlives its parent by more than a fast shutdown.
package builtin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type Config struct {
	DataDir string            // e.g. /var/lib/gpunex/pg ; created if missing
	BinDir  string            // optional; else discovered
	RunDir  string            // socket dir; default /run or os.TempDir(), kept short (sun_path is 107 bytes)
	RunAs   string            // user name when euid==0; default owner of DataDir, else "postgres", else "nobody"
	Params  map[string]string // extra -c settings
	Ephem   bool              // tests: fsync=off and friends
	Log     *slog.Logger
}

type Server struct {
	cfg     Config
	binDir  string
	env     []string
	runDir  string
	cmd     *exec.Cmd
	exited  chan struct{}
	exitErr error
	Stats   struct{ Initdb, Ready time.Duration }
	Adopted bool
}

const port = 5432 // only names the socket file: <RunDir>/.s.PGSQL.5432
const role = "gpunex"

// Start returns once the server accepts connections.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	abs, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	cfg.DataDir = abs
	s := &Server{cfg: cfg}
	want := ""
	if b, err := os.ReadFile(filepath.Join(cfg.DataDir, "PG_VERSION")); err == nil {
		want = strings.TrimSpace(string(b))
	}
	if s.binDir, err = FindBin(cfg.BinDir, want); err != nil {
		return nil, err
	}
	cred, err := s.credential()
	if err != nil {
		return nil, err
	}
	if err := s.dirs(cred); err != nil {
		return nil, err
	}
	// LD_LIBRARY_PATH lets a relocated bundle (npm/zonky) find its own lib/.
	// postgres is not setuid, so this is honoured across the uid switch.
	s.env = append(os.Environ(), "LC_ALL=C.UTF-8", "TZ=UTC")
	if lib := filepath.Join(filepath.Dir(s.binDir), "lib"); exists(filepath.Join(lib, "libpq.so.5")) {
		s.env = append(s.env, "LD_LIBRARY_PATH="+lib)
	}

	// A predecessor killed with -9 leaves a postmaster that is shutting down
	// (Pdeathsig) or, on non-Linux, still serving. Wait for it, ask it to stop.
	if err := s.evict(ctx); err != nil {
		return nil, err
	}
	if want == "" {
		t := time.Now()
		if err := s.initdb(ctx, cred); err != nil {
			return nil, err
		}
		s.Stats.Initdb = time.Since(t)
	}
	t := time.Now()
	if err := s.launch(ctx, cred); err != nil {
		return nil, err
	}
	s.Stats.Ready = time.Since(t)
	return s, nil
}

// URL is a pgx connection string for database db.
func (s *Server) URL(db string) string {
	q := url.Values{"host": {s.runDir}, "port": {strconv.Itoa(port)}, "sslmode": {"disable"}}
	return "postgres://" + role + "@/" + db + "?" + q.Encode()
}

// Exited is closed when the server process ends for any reason.
func (s *Server) Exited() <-chan struct{} { return s.exited }
func (s *Server) PID() int                { return s.cmd.Process.Pid }

// Stop does a fast shutdown (SIGINT: roll back, checkpoint, exit).
func (s *Server) Stop(ctx context.Context) error {
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-s.exited:
	case <-ctx.Done():
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // immediate; WAL recovery at next start
		select {
		case <-s.exited:
		case <-time.After(3 * time.Second):
			_ = s.cmd.Process.Kill()
			<-s.exited
		}
	}
	_ = os.RemoveAll(s.runDir)
	return s.exitErr
}

// FindBin looks in explicit dir, PATH, then distro locations; prefers the
// major version an existing data directory was made with.
func FindBin(explicit, major string) (string, error) {
	var dirs []string
	if explicit != "" {
		dirs = append(dirs, explicit)
	} else {
		var globbed []string
		for _, g := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/pgsql/bin"} {
			m, _ := filepath.Glob(g)
			globbed = append(globbed, m...)
		}
		sort.Sort(sort.Reverse(sort.StringSlice(globbed)))
		if p, err := exec.LookPath("postgres"); err == nil {
			if r, err := filepath.EvalSymlinks(p); err == nil { // share/ is found relative to the real path
				dirs = append(dirs, filepath.Dir(r))
			}
		}
		dirs = append(dirs, globbed...)
	}
	var seen []string
	for _, d := range dirs {
		if !exists(filepath.Join(d, "postgres")) || !exists(filepath.Join(d, "initdb")) {
			continue
		}
		cmd := exec.Command(filepath.Join(d, "postgres"), "--version")
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(filepath.Dir(d), "lib"))
		out, err := cmd.Output()
		if err != nil {
			seen = append(seen, d+": "+err.Error())
			continue
		}
		f := strings.Fields(string(out)) // postgres (PostgreSQL) 15.18 (Debian ...)
		if len(f) < 3 {
			continue
		}
		m := f[2]
		if i := strings.IndexAny(m, ".bdr"); i > 0 {
			m = m[:i]
		}
		if n, _ := strconv.Atoi(m); n < 14 {
			seen = append(seen, d+": too old "+f[2])
			continue
		}
		if major == "" || m == major {
			return d, nil
		}
		seen = append(seen, d+": major "+m+", data needs "+major)
	}
	return "", fmt.Errorf("no usable PostgreSQL server binaries (%s)", strings.Join(seen, "; "))
}

func (s *Server) credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	names := []string{s.cfg.RunAs}
	if s.cfg.RunAs == "" {
		names = nil
		if st, err := os.Stat(s.cfg.DataDir); err == nil {
			if u := st.Sys().(*syscall.Stat_t).Uid; u != 0 {
				return &syscall.Credential{Uid: u, Gid: st.Sys().(*syscall.Stat_t).Gid}, nil
			}
		}
		names = append(names, "postgres", "nobody")
	}
	for _, n := range names {
		if u, err := user.Lookup(n); err == nil {
			uid, _ := strconv.Atoi(u.Uid)
			gid, _ := strconv.Atoi(u.Gid)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	// initdb refuses an euid without a passwd entry, so an invented uid won't do.
	return nil, errors.New("running as root and no postgres/nobody user exists; set RunAs")
}

func (s *Server) dirs(cred *syscall.Credential) error {
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
	if len(s.runDir)+len("/.s.PGSQL.5432") > 107 {
		return fmt.Errorf("socket path too long: %s", s.runDir)
	}
	for _, d := range []string{s.cfg.DataDir, s.runDir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
		if err := os.Chmod(d, 0o700); err != nil {
			return err
		}
		if cred != nil {
			if err := os.Chown(d, int(cred.Uid), int(cred.Gid)); err != nil {
				return err
			}
		}
	}
	if cred != nil { // every parent must be traversable by the other uid (/root is not)
		for p := filepath.Dir(s.cfg.DataDir); p != "/"; p = filepath.Dir(p) {
			st, err := os.Stat(p)
			if err != nil {
				return err
			}
			if st.Mode().Perm()&0o001 == 0 && st.Sys().(*syscall.Stat_t).Uid != cred.Uid {
				return fmt.Errorf("%s is not traversable by uid %d; choose another data dir (e.g. /var/lib/gpunex)", p, cred.Uid)
			}
		}
	}
	return nil
}

func (s *Server) initdb(ctx context.Context, cred *syscall.Credential) error {
	// trust is safe here: the only listener is a socket in a 0700 directory.
	cmd := exec.CommandContext(ctx, filepath.Join(s.binDir, "initdb"), "-D", s.cfg.DataDir,
		"-U", role, "-E", "UTF8", "--locale=C.UTF-8", "--auth-local=trust", "--auth-host=reject", "--no-instructions", "--no-sync")
	cmd.Env, cmd.Dir = s.env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	out, err := cmd.CombinedOutput()
	if err != nil {
		_ = os.Remove(filepath.Join(s.cfg.DataDir, "PG_VERSION"))
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

func (s *Server) launch(ctx context.Context, cred *syscall.Credential) error {
	args := []string{"-D", s.cfg.DataDir, "-p", strconv.Itoa(port),
		"-c", "listen_addresses=", "-c", "unix_socket_directories=" + s.runDir,
		"-c", "unix_socket_permissions=0700", "-c", "logging_collector=off", "-c", "log_destination=stderr"}
	p := map[string]string{"max_connections": "100", "shared_buffers": "256MB", "wal_compression": "on",
		"max_wal_size": "1GB", "jit": "off", "track_io_timing": "on"}
	if s.cfg.Ephem {
		for k, v := range map[string]string{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "wal_level": "minimal", "max_wal_senders": "0", "autovacuum": "off"} {
			p[k] = v
		}
	}
	for k, v := range s.cfg.Params {
		p[k] = v
	}
	for k, v := range p {
		args = append(args, "-c", k+"="+v)
	}
	cmd := exec.Command(filepath.Join(s.binDir, "postgres"), args...)
	cmd.Env, cmd.Dir = s.env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: cred,
		Setpgid:    true,           // a ^C in the terminal must reach us, not postgres
		Pdeathsig:  syscall.SIGINT, // kill -9 of the parent => fast, clean shutdown
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	s.cmd, s.exited = cmd, make(chan struct{})
	started := make(chan error, 1)
	go func() {
		// Pdeathsig fires when the *thread* that forked dies: keep it locked
		// and alive for the life of the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		sc := bufio.NewScanner(stderr)
		for sc.Scan() {
			s.cfg.Log.Debug("postgres", "line", sc.Text())
		}
		s.exitErr = cmd.Wait()
		close(s.exited)
	}()
	if err := <-started; err != nil {
		return err
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		// line 8 of postmaster.pid is what pg_ctl waits for
		if st, pid := pidFile(s.cfg.DataDir); st == "ready" && pid == cmd.Process.Pid {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.exited:
			return fmt.Errorf("postgres exited during start: %v", s.exitErr)
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGQUIT)
			return ctx.Err()
		}
	}
}

func (s *Server) evict(ctx context.Context) error {
	_, pid := pidFile(s.cfg.DataDir)
	if pid <= 0 || !isPostmaster(pid, s.cfg.DataDir) {
		return nil // postgres itself removes a stale pid file
	}
	_ = syscall.Kill(pid, syscall.SIGINT)
	s.cfg.Log.Warn("waiting for a previous postgres to stop", "pid", pid)
	for isPostmaster(pid, s.cfg.DataDir) {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func isPostmaster(pid int, dataDir string) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(b), dataDir)
}

func pidFile(dir string) (status string, pid int) {
	b, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	if err != nil {
		return "", 0
	}
	l := strings.Split(string(b), "\n")
	pid, _ = strconv.Atoi(strings.TrimSpace(l[0]))
	if len(l) >= 8 {
		status = strings.TrimSpace(l[7])
	}
	return status, pid
}

func exists(p string) bool { _, err := os.Stat(p); return err == nil }
