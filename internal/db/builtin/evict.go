package builtin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// evict waits until nothing works in dir any more: a server whose parent was killed and that is shutting down (it is asked
// again), or backends whose server was killed, which would keep a new one from starting.
func (s *Server) evict(ctx context.Context, dir string) error {
	const patience = 500 // looks, so 5 seconds, until what doesn't end is killed: its server is dead, its work is lost
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	looks := map[int]int{}
	for {
		left := workingIn(dir)
		if len(left) == 0 {
			return nil
		}
		server, _ := pidFile(dir)
		alive := slices.Contains(left, server)
		for _, pid := range left {
			looks[pid]++
			switch {
			case pid == server && looks[pid] == 1:
				s.cfg.Log.Warn("waiting for a previous PostgreSQL to end", "pid", pid)
				_ = syscall.Kill(pid, syscall.SIGINT)
			case alive: // it ends its own backends
			case looks[pid]%patience == 1:
				s.cfg.Log.Warn("ending what a killed PostgreSQL left running", "pid", pid)
				_ = syscall.Kill(pid, syscall.SIGQUIT)
			case looks[pid]%patience == 0:
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("a previous PostgreSQL still works in %s (processes %v): %w", dir, left, ctx.Err())
		}
	}
}

// workingIn lists the processes of PostgreSQL in a data directory: each of them makes it its working directory.
func workingIn(dir string) (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // fails only on a bad pattern
	for _, link := range links {
		if to, err := os.Readlink(link); err != nil || to != dir {
			continue
		}
		proc := filepath.Dir(link)
		name, err := os.ReadFile(filepath.Join(proc, "comm"))
		if err != nil || strings.TrimSpace(string(name)) != "postgres" {
			continue // somebody's shell may stand there
		}
		if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func pidFile(dir string) (pid int, status string) {
	b, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	if err != nil {
		return 0, ""
	}
	lines := strings.Split(string(b), "\n")
	pid, _ = strconv.Atoi(strings.TrimSpace(lines[0])) // a half-written file is nobody's
	if len(lines) >= 8 {
		status = strings.TrimSpace(lines[7])
	}
	return pid, status
}
