package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is a program of ours that runs beside this one and ends with it.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// spawn starts a program. Its output goes to out.
func spawn(name string, env []string, out io.Writer, path string, args ...string) (*process, error) {
	cmd := exec.Command(path, args...) //nolint:gosec,noctx // our own binaries; ended by stop, not by a context's kill
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // whoever killed or stopped it knows why
		close(p.done)
	}()
	return p, nil
}

// kill ends it at once, as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop asks it to end, and makes it after ten seconds.
func (p *process) stop() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		p.kill()
	}
}

// errGaveUp says what was waited for in vain.
var errGaveUp = errors.New("gave up")

// await looks until ok says yes. It is for what other processes do and no event tells.
func await(ctx context.Context, what string, limit time.Duration, ok func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := ok()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w after %v", what, errGaveUp, limit)
		case <-tick.C:
		}
	}
}
