package demo

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/controlplane"
	"github.com/gpunex/gpunex/internal/demo/demotest"
	"github.com/gpunex/gpunex/internal/mail/mailtest"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/rental"
)

// world is a story whose platform is a process of its own, so that it can be killed.
type world struct {
	*story
	t       *testing.T
	bin     string
	address string   // of its pages
	command []string // of the next order
	gpunexd *process
	cfg     controlplane.Config
	args    []string
}

func needDocker(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "docker", "image", "inspect", testImage).CombinedOutput()
	if err == nil {
		return
	}
	if os.Getenv("GPUNEX_REQUIRE_DOCKER") == "1" {
		t.Fatalf("a Docker engine with the image %s is required: %v %s", testImage, err, out)
	}
	t.Skipf("SKIPPED: no Docker engine with the image %s here (make image builds it): %v", testImage, err)
}

const testImage = "gpunex/hello:1"

func newWorld(t *testing.T) *world {
	t.Helper()
	needDocker(t)
	bin := demotest.Programs(t)
	dir, err := os.MkdirTemp("", "gpunex-faults-") // t.TempDir is closed to the database's own user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, bin: bin, address: demotest.Address(t), story: &story{
		Config: Config{Agent: filepath.Join(bin, "gpunex-agent"), Image: testImage, Out: &bytes.Buffer{}, Log: log}, dir: dir,
	}}
	t.Cleanup(func() {
		w.end()
		w.gpunexd.stop()
		if t.Failed() {
			b, _ := os.ReadFile(log.Name())
			t.Logf("what the processes said:\n%s", b[max(0, len(b)-16000):])
		}
	})
	if w.mails, err = mailtest.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	w.cfg = controlplane.Default()
	w.cfg.DataDir = filepath.Join(dir, "data")
	w.args = []string{
		"serve", "--data", w.cfg.DataDir, "--listen", w.address, "--bus-listen", demotest.Address(t),
		"--smtp", "smtp://" + w.mails.Addr() + "?tls=none&from=gpunex@demo.example", "--dev",
		"--heartbeat", "1s", "--unreachable", "5s", "--settle", "2s", "--payout-minimum", "0.000001",
	}
	w.startPlatform()
	services, done, err := controlplane.Admin(t.Context(), w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = done() })
	w.p = &controlplane.Platform{Services: services, URL: "http://" + w.address}
	for _, step := range []func(context.Context) (string, error){w.people, w.apply, w.approve, w.install, w.benchmark, w.price} {
		w.must(step)
	}
	if err := w.p.Ledger.GiveTestFunds(t.Context(), time.Now(), "faults", w.customer.Account.ID, w.operator.Person.ID, 100*money.USDC); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) startPlatform() {
	w.t.Helper()
	var err error
	if w.gpunexd, err = spawn("gpunexd", nil, w.Log, filepath.Join(w.bin, "gpunexd"), w.args...); err != nil {
		w.t.Fatal(err)
	}
	w.wait("gpunexd ready", func() (bool, error) {
		return get(w.t.Context(), "http://"+w.address+"/healthz") == nil, nil
	})
}

func (w *world) must(step func(context.Context) (string, error)) {
	w.t.Helper()
	if _, err := step(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) wait(what string, ok func() (bool, error)) {
	w.t.Helper()
	if err := await(w.t.Context(), what, time.Minute, ok); err != nil {
		w.t.Fatal(err)
	}
}

// order rents the world's GPU.
func (w *world) order() {
	w.t.Helper()
	ctx := w.t.Context()
	w.wait("an offer", func() (bool, error) {
		q, err := w.p.Market.Quote(ctx, time.Now(), w.customer, w.hostID(), "h100-sxm", 1)
		if err != nil {
			return false, nil // not listed yet: the last rental is being cleared away
		}
		w.let, err = w.p.Rentals.Start(ctx, time.Now(), w.customer, rental.Order{QuoteID: q.ID, IdemKey: q.ID, Image: w.Image, Command: w.command})
		return err == nil, err
	})
}

func (w *world) hostID() string {
	hosts, err := w.p.Fleet.Hosts(w.t.Context(), w.owner.Account.ID)
	if err != nil || len(hosts) != 1 {
		w.t.Fatalf("one host expected: %v, %v", hosts, err)
	}
	return hosts[0].ID
}

// state waits for a state of the rental. The database may be on its way back meanwhile.
func (w *world) state(want rental.State) {
	w.t.Helper()
	w.wait("rental "+string(want), func() (bool, error) {
		r, err := w.p.Rentals.Get(w.t.Context(), w.customer, w.let.ID)
		if err != nil {
			return false, nil //nolint:nilerr // see above
		}
		w.let = r
		if r.State == rental.Ended && want != rental.Ended {
			return false, fmt.Errorf("it ended: %s (%s)", r.EndReason, r.Message)
		}
		return r.State == want, nil
	})
}

// containers lists the identifiers of this rental's containers, ended ones too.
func (w *world) containers() []string {
	w.t.Helper()
	out, err := exec.CommandContext(w.t.Context(), "docker", "ps", "-aq", "--no-trunc", "--filter", "label=com.gpunex.rental="+w.let.ID).Output()
	if err != nil {
		w.t.Fatalf("docker ps: %v", err)
	}
	return strings.Fields(string(out))
}

// finish stops the rental and checks that money and containers are in order.
func (w *world) finish() {
	w.t.Helper()
	ctx := w.t.Context()
	if w.let.State != rental.Ended {
		if _, err := w.p.Rentals.Stop(ctx, time.Now(), w.customer, w.let.ID); err != nil {
			w.t.Fatal(err)
		}
		w.state(rental.Ended)
	}
	want, err := money.Charge(w.let.Micro, w.let.GPUs, w.let.BilledMS)
	if err != nil || w.let.Charged != want {
		w.t.Errorf("charged %s for %d ms, want %s, %v", w.let.Charged, w.let.BilledMS, want, err)
	}
	if ran := w.let.EndedAt.Sub(w.let.RequestedAt).Milliseconds(); w.let.BilledMS > ran {
		w.t.Errorf("billed %d ms of a rental that took %d ms", w.let.BilledMS, ran)
	}
	if held, err := w.p.Ledger.Held(ctx, w.p.DB, w.customer.Account.ID); err != nil || held != 0 {
		w.t.Errorf("an ended rental holds %s, %v", held, err)
	}
	if a, err := w.p.Ledger.Audit(ctx); err != nil || !a.OK() {
		w.t.Errorf("the books are not in order: %+v, %v", a, err)
	}
	w.wait("no container is left", func() (bool, error) { return len(w.containers()) == 0, nil })
}

func TestKilledInTheMiddle(t *testing.T) {
	w := newWorld(t)
	agentArgs := w.host.agent.cmd.Args[1:]
	victims := []struct {
		name string
		kill func()
	}{
		{"agent", func() {
			w.host.agent.kill()
			if err := w.host.startAgent(agentArgs); err != nil {
				t.Fatal(err)
			}
		}},
		{"guard", func() {
			w.host.guard.kill()
			if err := w.host.startGuard(); err != nil {
				t.Fatal(err)
			}
		}},
		{"PostgreSQL", func() {
			old := postmaster(t, w.cfg.DataDir)
			if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			w.wait("another PostgreSQL", func() (bool, error) { return postmaster(t, w.cfg.DataDir) != old, nil })
			w.databaseIsBack()
		}},
		{"gpunexd", func() {
			w.gpunexd.kill()
			w.startPlatform()
			w.databaseIsBack()
		}},
	}
	for _, v := range victims {
		t.Run(v.name+" while starting", func(t *testing.T) {
			w.t = t
			w.order()
			v.kill()
			w.state(rental.Running)
			if c := w.containers(); len(c) != 1 {
				t.Fatalf("one container expected, found %v", c)
			}
			w.finish()
		})
		t.Run(v.name+" while running", func(t *testing.T) {
			w.t = t
			w.order()
			w.state(rental.Running)
			before := w.containers()
			v.kill()
			w.billsOn()
			if after := w.containers(); len(after) != 1 || after[0] != before[0] {
				t.Fatalf("the container %v must go on, found %v", before, after)
			}
			if started := w.inspect(before[0]); started != 0 {
				t.Fatalf("the container was restarted %d times", started)
			}
			w.finish()
		})
	}
	w.t = t
}

// billsOn waits until the rental's billed time has grown: platform and host have found one another again.
func (w *world) billsOn() {
	w.t.Helper()
	var first int64 = -1
	w.wait("billing goes on", func() (bool, error) {
		r, err := w.p.Rentals.Get(w.t.Context(), w.customer, w.let.ID)
		if err != nil {
			return false, nil //nolint:nilerr // the database may be on its way back
		}
		if r.State != rental.Running {
			return false, fmt.Errorf("the rental is %s: %s %s", r.State, r.EndReason, r.Message)
		}
		if first < 0 {
			first = r.BilledMS
		}
		return r.BilledMS > first, nil
	})
}

// inspect tells how often the engine has restarted a container.
func (w *world) inspect(container string) (restarts int) {
	w.t.Helper()
	out, err := exec.CommandContext(w.t.Context(), "docker", "inspect", container).Output()
	var got []struct{ RestartCount int }
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil || len(got) != 1 {
		w.t.Fatalf("docker inspect %s: %v", container, err)
	}
	return got[0].RestartCount
}

// databaseIsBack drops the connections to the dead server and waits for the new one.
func (w *world) databaseIsBack() {
	w.t.Helper()
	w.p.DB.Reset()
	w.wait("the database is back", func() (bool, error) { return w.p.DB.Ping(w.t.Context()) == nil, nil })
}

// postmaster is the built-in server's process; 0 while there is none.
func postmaster(t *testing.T, dataDir string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dataDir, "postgres", "postmaster.pid"))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(string(b), "\n", 2)[0]))
	if err != nil {
		return 0 // half written
	}
	return pid
}

func TestContainerRemovedBehindTheAgentsBack(t *testing.T) {
	w := newWorld(t)
	w.order()
	w.state(rental.Running)
	if out, err := exec.CommandContext(t.Context(), "docker", "rm", "-f", w.containers()[0]).CombinedOutput(); err != nil {
		t.Fatalf("docker rm: %v %s", err, out)
	}
	w.state(rental.Ended)
	if w.let.EndReason != rental.HostFault || w.let.Attributed != "provider" {
		t.Errorf("ended as %s by %s, want host_fault by provider", w.let.EndReason, w.let.Attributed)
	}
	w.finish()
}

// bareImage makes an image that holds one text file: no shell, no program, no command.
func bareImage(t *testing.T) string {
	t.Helper()
	var tarball bytes.Buffer
	w := tar.NewWriter(&tarball)
	if err := w.WriteHeader(&tar.Header{Name: "readme", Mode: 0o644, Size: 5}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("empty")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const name = "gpunex/bare:1"
	cmd := exec.CommandContext(t.Context(), "docker", "import", "-", name)
	cmd.Stdin = &tarball
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("docker import: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", name).Run() })
	return name
}

func TestImagesThatCannotStart(t *testing.T) {
	w := newWorld(t)
	bare := bareImage(t)
	tests := []struct {
		name, image string
		command     []string
	}{
		{"an image that doesn't exist", "gpunex/no-such-image:1", nil},
		{"an image without a command", bare, nil},
		{"an image without a shell", bare, []string{"/bin/sh", "-c", "true"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w.t, w.Image, w.command = t, test.image, test.command
			w.order()
			w.state(rental.Ended)
			if w.let.EndReason != rental.ImageCannotStart || w.let.Charged != 0 || w.let.BilledMS != 0 {
				t.Errorf("ended as %s (%s), charged %s for %d ms; want image_cannot_start and nothing",
					w.let.EndReason, w.let.Message, w.let.Charged, w.let.BilledMS)
			}
			if w.let.Message == "" {
				t.Error("the customer isn't told why")
			}
			w.finish()
		})
	}
	w.t = t
}
