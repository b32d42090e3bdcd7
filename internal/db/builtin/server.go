package builtin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Config says where a server lives and how it runs.
type Config struct {
	DataDir string            // its data, as in /var/lib/gpunex/postgres; made when missing
	BinDir  string            // folder of postgres and initdb; empty: found by FindBin
	RunDir  string            // folder for the socket's folder; empty: /run for root, else the temporary folder
	RunAs   string            // who runs it when the process is root; empty: the owner of DataDir, else postgres, else nobody
	Params  map[string]string // more settings
	Ephem   bool              // for tests: fast, and a crash of the machine loses the data
	Log     *slog.Logger      // what the server says, at level debug
}

// Server is one running PostgreSQL.
type Server struct {
	cfg     Config
	binDir  string
	runDir  string
	cred    *syscall.Credential // nil: who we are
	env     []string
	cmd     *exec.Cmd
	said    *lastLines
	exited  chan struct{}
	exitErr error // set before exited is closed
}

const (
	port = 5432 // only names the socket's file
	role = "gpunex"
)

// Start returns when the server accepts connections. It makes the data directory the first time.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	var err error
	if cfg.DataDir, err = realPath(cfg.DataDir); err != nil {
		return nil, fmt.Errorf("builtin: data directory: %w", err)
	}
	s := &Server{cfg: cfg}
	if err := s.start(ctx); err != nil {
		return nil, fmt.Errorf("builtin: %w", err)
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) (err error) {
	made, err := madeBy(s.cfg.DataDir)
	if err != nil {
		return err
	}
	if s.binDir, err = FindBin(s.cfg.BinDir, made); err != nil {
		if made != "" {
			err = fmt.Errorf("data directory %s: %w", s.cfg.DataDir, err)
		}
		return err
	}
	if s.cred, err = credential(s.cfg); err != nil {
		return err
	}
	if err := s.makeRunDir(); err != nil {
		return err
	}
	if err := checkPath(s.cfg.DataDir, s.cred); err != nil {
		return err
	}
	s.env = append(os.Environ(), "LC_ALL=C.UTF-8", "TZ=UTC")
	if lib := libDir(s.binDir); lib != "" {
		s.env = append(s.env, "LD_LIBRARY_PATH="+lib)
	}
	if err := s.evict(ctx, s.cfg.DataDir); err != nil {
		return err
	}
	if made == "" {
		if err := s.initdb(ctx); err != nil {
			return err
		}
	}
	return s.launch(ctx)
}

// madeBy is the major version that made a data directory, or "" when there is none yet.
func madeBy(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
	if err == nil {
		return strings.TrimSpace(string(b)), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("data directory: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("data directory: %w", err)
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s has files in it but no PG_VERSION, so it isn't a PostgreSQL data directory; "+
			"nothing was changed: choose another data directory, or move those files away", dir)
	}
	return "", nil
}

// URL is a connection string for one of the server's databases.
func (s *Server) URL(db string) string {
	q := url.Values{"host": {s.runDir}, "port": {strconv.Itoa(port)}, "sslmode": {"disable"}}
	return "postgres://" + role + "@/" + db + "?" + q.Encode()
}

// Exited is closed when the server ends, for whatever reason.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// PID is the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stop rolls back what is open, writes everything down and ends the server. When ctx ends first it ends at once, and the
// next Start recovers from the log.
func (s *Server) Stop(ctx context.Context) error {
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-s.exited:
	case <-ctx.Done():
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		select {
		case <-s.exited:
		case <-time.After(3 * time.Second):
			_ = s.cmd.Process.Kill()
			<-s.exited
		}
	}
	_ = os.RemoveAll(s.runDir)
	if s.exitErr != nil {
		return fmt.Errorf("builtin: the server ended with: %w", s.exitErr)
	}
	return nil
}
