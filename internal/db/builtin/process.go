package builtin

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// launch starts the server and waits until it accepts connections.
func (s *Server) launch(ctx context.Context) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(s.binDir, "postgres"), s.args()...) //nolint:gosec,noctx // a server program of this machine; it outlives ctx
	cmd.Env, cmd.Dir, cmd.Stderr = s.env, "/", w
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: s.cred,
		Setpgid:    true,           // Ctrl-C in a terminal must reach us, who stop the server last
		Pdeathsig:  syscall.SIGINT, // killing us is a fast, clean shutdown for it
	}
	s.cmd, s.exited, s.said = cmd, make(chan struct{}), &lastLines{done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // Pdeathsig is sent when the thread that started it ends
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			s.exitErr = cmd.Wait()
			close(s.exited)
		}
	}()
	err = <-started
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		return err
	}
	go s.said.read(r, s.cfg.Log)
	return s.ready(ctx)
}

// ready waits for the line of postmaster.pid that pg_ctl waits for, too.
func (s *Server) ready(ctx context.Context) error {
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for {
		if pid, status := pidFile(s.cfg.DataDir); pid == s.PID() && status == "ready" {
			return nil
		}
		select {
		case <-look.C:
		case <-s.exited:
			return fmt.Errorf("the server ended while starting (%s): %s", s.cmd.ProcessState, s.said)
		case <-ctx.Done():
			_ = s.cmd.Process.Signal(syscall.SIGQUIT)
			return fmt.Errorf("the server didn't start in time: %w: %s", ctx.Err(), s.said)
		}
	}
}

func (s *Server) args() []string {
	settings := map[string]string{
		"listen_addresses": "", "unix_socket_directories": s.runDir, "unix_socket_permissions": "0700",
		"logging_collector": "off", "log_destination": "stderr",
		"max_connections": "100", "shared_buffers": "256MB", "wal_compression": "on", "max_wal_size": "1GB",
		"jit": "off", "track_io_timing": "on",
	}
	if s.cfg.Ephem {
		maps.Copy(settings, map[string]string{
			"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
			"wal_level": "minimal", "max_wal_senders": "0", "autovacuum": "off",
		})
	}
	maps.Copy(settings, s.cfg.Params)
	args := []string{"-D", s.cfg.DataDir, "-p", strconv.Itoa(port)}
	for k, v := range settings {
		args = append(args, "-c", k+"="+v)
	}
	return args
}

// lastLines logs what a server says and keeps the end of it for an error's text.
type lastLines struct {
	mu    sync.Mutex
	lines []string
	done  chan struct{}
}

func (l *lastLines) read(r io.ReadCloser, log *slog.Logger) {
	defer close(l.done)
	defer func() { _ = r.Close() }()
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			log.Debug("postgres", "line", line)
			l.mu.Lock()
			l.lines = append(l.lines[max(0, len(l.lines)-4):], line)
			l.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// String is the last lines, after a moment in which the very last may still come.
func (l *lastLines) String() string {
	select {
	case <-l.done:
	case <-time.After(200 * time.Millisecond):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "; ")
}
