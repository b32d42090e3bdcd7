package demo

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/rental"
)

// engine is a Docker engine of a test's own, so that it can be killed.
type engine struct {
	t          *testing.T
	dir        string
	network    string   // namespace: two engines in one would take each other's bridges away
	containerd *process // of its own, as distributions run it: it outlives dockerd
	process    *process
}

// ownEngine starts one and makes it the engine of this test's docker and guard.
func ownEngine(t *testing.T) *engine {
	t.Helper()
	needDocker(t)
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can start a Docker engine of its own")
	}
	dir, err := os.MkdirTemp("/tmp", "gpunex-engine-") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(dir, "image.tar")
	if out, err := exec.CommandContext(t.Context(), "docker", "save", "-o", image, testImage).CombinedOutput(); err != nil {
		t.Fatalf("docker save: %v %s", err, out)
	}
	e := &engine{t: t, dir: dir, network: filepath.Base(dir)}
	if out, err := exec.CommandContext(t.Context(), "ip", "netns", "add", e.network).CombinedOutput(); err != nil {
		t.Fatalf("ip netns add: %v %s", err, out)
	}
	t.Cleanup(func() {
		if t.Failed() {
			b, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("what the engine said:\n%s", b[max(0, len(b)-4000):])
		}
		e.process.stop()
		e.containerd.stop()
		_ = exec.Command("ip", "netns", "delete", e.network).Run()
		_ = os.RemoveAll(dir)
	})
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(dir, "docker.sock"))
	log := e.log()
	if e.containerd, err = spawn("containerd", nil, log, "containerd", "--root", filepath.Join(dir, "containerd"), "--state", filepath.Join(dir, "run"), "--address", e.address()); err != nil {
		t.Fatal(err)
	}
	err = await(t.Context(), "containerd", time.Minute, func() (bool, error) {
		_, err := os.Stat(e.address())
		return err == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	e.start()
	if out, err := exec.CommandContext(t.Context(), "docker", "load", "-i", image).CombinedOutput(); err != nil {
		t.Fatalf("docker load: %v %s", err, out)
	}
	return e
}

func (e *engine) address() string { return filepath.Join(e.dir, "containerd.sock") }

func (e *engine) log() *os.File {
	e.t.Helper()
	log, err := os.OpenFile(filepath.Join(e.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		e.t.Fatal(err)
	}
	return log
}

func (e *engine) start() {
	e.t.Helper()
	if err := os.Remove(filepath.Join(e.dir, "pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		e.t.Fatal(err)
	}
	var err error
	e.process, err = spawn("dockerd", nil, e.log(), "nsenter", "--net=/var/run/netns/"+e.network, "dockerd", "--containerd", e.address(), "--data-root", filepath.Join(e.dir, "data"), "--exec-root", filepath.Join(e.dir, "exec"),
		"--pidfile", filepath.Join(e.dir, "pid"), "--host", "unix://"+filepath.Join(e.dir, "docker.sock"), "--storage-driver", "vfs", "--live-restore")
	if err != nil {
		e.t.Fatal(err)
	}
	err = await(e.t.Context(), "the test's own engine", time.Minute, func() (bool, error) {
		return exec.CommandContext(e.t.Context(), "docker", "info").Run() == nil, nil
	})
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *engine) crash() {
	e.process.kill()
	e.start()
}

func TestEngineKilledInTheMiddle(t *testing.T) {
	e := ownEngine(t)
	w := newWorld(t)
	t.Run("while starting", func(t *testing.T) {
		w.t, e.t = t, t
		w.order()
		e.crash()
		// Either the engine had not begun, and it starts now, or it died in the middle of it: then it was the host's
		// fault and costs nothing. Never two containers.
		w.wait("running or ended", func() (bool, error) {
			r, err := w.p.Rentals.Get(t.Context(), w.customer, w.let.ID)
			w.let = r
			return r.State == rental.Running || r.State == rental.Ended, err
		})
		if w.let.State == rental.Ended && (w.let.EndReason != rental.HostFault || w.let.Charged != 0) {
			t.Errorf("ended as %s, charged %s; want host_fault and nothing", w.let.EndReason, w.let.Charged)
		}
		if n := len(w.containers()); n > 1 {
			t.Errorf("%d containers of one rental", n)
		}
		w.finish()
	})
	t.Run("while running", func(t *testing.T) {
		w.t, e.t = t, t
		w.order()
		w.state(rental.Running)
		before := strings.Join(w.containers(), " ")
		e.crash()
		w.billsOn()
		if after := strings.Join(w.containers(), " "); after != before {
			t.Errorf("the container %s must go on, found %s", before, after)
		}
		w.finish()
	})
	w.t, e.t = t, t
}
