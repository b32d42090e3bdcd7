package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/agent/guard"
	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/agent/workload/workloadtest"
	"github.com/gpunex/gpunex/internal/protocol"
)

const (
	image = "gpunex/hello:1"
	empty = "gpunex/empty:1"
)

func policy() guard.Policy {
	return guard.Policy{
		GPUs: []string{"GPU-sim-0001", "GPU-sim-0002"}, MaxCPUs: 64, MaxRAMMiB: 4096, MaxDiskMiB: 10_000, Simulated: true,
	}
}

// needDocker skips without an engine, unless one is demanded.
func needDocker(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "docker", "info").CombinedOutput()
	if err == nil {
		out, err = exec.CommandContext(t.Context(), "sh", "../../../scripts/build-image.sh").CombinedOutput()
	}
	if err == nil && exec.CommandContext(t.Context(), "docker", "image", "inspect", empty).Run() != nil {
		out, err = exec.CommandContext(t.Context(), "sh", "-c", "tar -cf - -T /dev/null | docker import - "+empty).CombinedOutput()
	}
	if err == nil {
		return
	}
	if os.Getenv("GPUNEX_REQUIRE_DOCKER") != "" {
		t.Fatalf("no usable Docker engine: %v\n%s", err, out)
	}
	t.Skipf("SKIPPED, not passed: no usable Docker engine: %v\n%s", err, out)
}

// serve runs a guard until the test ends, and gives its socket.
func serve(t *testing.T, c guard.Config) string {
	t.Helper()
	c.Socket, c.UID = filepath.Join(t.TempDir(), "guard.sock"), os.Getuid()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- guard.Run(ctx, c, slog.New(slog.NewTextHandler(io.Discard, nil))) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("guard ended with %v", err)
		}
	})
	workloadtest.Eventually(t, "guard listens", 5*time.Second, func() bool {
		conn, err := net.Dial("unix", c.Socket)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return c.Socket
}

func docker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(context.Background(), "docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func removeNetwork(t *testing.T, instance string) {
	t.Cleanup(func() {
		_ = exec.CommandContext(context.Background(), "docker", "network", "rm", "gpunex-"+instance).Run()
	})
}

func TestConformance(t *testing.T) {
	needDocker(t)
	removeNetwork(t, "conformance")
	c := guard.NewClient(serve(t, guard.Config{Instance: "conformance", Policy: policy()}))
	workloadtest.Run(t, workloadtest.Kit{
		Runtime: c, Image: image, Missing: "127.0.0.1:1/gpunex/missing:1", Empty: empty, GPUs: policy().GPUs,
	})
}

func TestSettingsAsTheEngineHasThem(t *testing.T) {
	needDocker(t)
	removeNetwork(t, "settings")
	c := guard.NewClient(serve(t, guard.Config{Instance: "settings", Policy: policy()}))
	spec := workload.Spec{Rental: "rnt_settings", Image: image, CPUs: 32, RAMMiB: 64, GPUs: policy().GPUs[:1]}
	t.Cleanup(func() { _ = c.Remove(context.Background(), spec.Rental) })
	if err := c.Start(t.Context(), spec, func(protocol.Phase) {}); err != nil {
		t.Fatal(err)
	}
	var inspected []struct {
		Mounts     []any
		HostConfig struct {
			Privileged                 bool
			Binds, CapAdd, CapDrop     []string
			SecurityOpt                []string
			PidMode, IpcMode, UTSMode  string
			NetworkMode                string
			Memory, MemorySwap         int64
			Devices, DeviceRequests    []any
			RestartPolicy              struct{ Name string }
			CgroupnsMode, UsernsMode   string
			PidsLimit                  int64
			ReadonlyPaths, MaskedPaths []string
		}
		Config struct{ Env []string }
	}
	if err := json.Unmarshal([]byte(docker(t, "inspect", "gpunex-rnt_settings")), &inspected); err != nil {
		t.Fatal(err)
	}
	h := inspected[0].HostConfig
	if h.Privileged || len(h.Binds) > 0 || len(inspected[0].Mounts) > 0 || len(h.Devices) > 0 || len(h.DeviceRequests) > 0 {
		t.Errorf("a way to the host: %+v", inspected[0])
	}
	if strings.Join(h.CapDrop, ",") != "ALL" || len(h.CapAdd) != 7 || strings.Join(h.SecurityOpt, ",") != "no-new-privileges" {
		t.Errorf("privileges: %+v", h)
	}
	if h.PidMode != "" || h.UTSMode != "" || h.IpcMode != "private" || h.CgroupnsMode != "private" || h.NetworkMode != "gpunex-settings" {
		t.Errorf("namespaces: %+v", h)
	}
	if h.Memory != 64<<20 || h.MemorySwap != h.Memory || h.PidsLimit <= 0 || h.RestartPolicy.Name != "no" || len(h.MaskedPaths) == 0 {
		t.Errorf("limits: %+v", h)
	}
	if !strings.Contains(strings.Join(inspected[0].Config.Env, " "), "NVIDIA_VISIBLE_DEVICES=void") {
		t.Errorf("environment: %v", inspected[0].Config.Env)
	}
	if icc := docker(t, "network", "inspect", "-f", `{{index .Options "com.docker.network.bridge.enable_icc"}}`, "gpunex-settings"); icc != "false" {
		t.Errorf("containers on the network see one another: enable_icc=%s", icc)
	}
	info, err := c.Info(t.Context())
	if err != nil || info.Runtime != "docker" || info.CPUs < 1 || info.RAMMiB < 1 || info.DiskMiB < 1 || info.Isolation[0] != "runc" {
		t.Errorf("info %+v, %v", info, err)
	}
}

func TestForeignContainersDontExist(t *testing.T) {
	needDocker(t)
	removeNetwork(t, "one")
	removeNetwork(t, "two")
	one := guard.NewClient(serve(t, guard.Config{Instance: "one", Policy: policy()}))
	two := guard.NewClient(serve(t, guard.Config{Instance: "two", Policy: policy()}))
	// Somebody's own container, with a name that a rental could have.
	docker(t, "run", "-d", "--name", "gpunex-rnt_foreign", image)
	t.Cleanup(func() { docker(t, "rm", "-f", "gpunex-rnt_foreign") })
	spec := workload.Spec{Rental: "rnt_ours", Image: image, CPUs: 1, RAMMiB: 64}
	t.Cleanup(func() { _ = one.Remove(context.Background(), spec.Rental) })
	if err := one.Start(t.Context(), spec, func(protocol.Phase) {}); err != nil {
		t.Fatal(err)
	}
	for _, foreign := range []string{"rnt_foreign", "rnt_ours"} {
		if err := two.Stop(t.Context(), foreign); !errors.Is(err, workload.ErrUnknown) {
			t.Errorf("stop %s gave %v", foreign, err)
		}
		if err := two.Remove(t.Context(), foreign); err != nil {
			t.Errorf("remove %s gave %v", foreign, err)
		}
		err := two.Logs(t.Context(), foreign, workload.Mark{}, func(protocol.LogLine) error { return nil })
		if !errors.Is(err, workload.ErrUnknown) {
			t.Errorf("logs of %s gave %v", foreign, err)
		}
		err = two.Start(t.Context(), workload.Spec{Rental: foreign, Image: image, CPUs: 1, RAMMiB: 64}, func(protocol.Phase) {})
		if failure := (*workload.Error)(nil); !errors.As(err, &failure) || failure.Code != protocol.FailEngine {
			t.Errorf("start under the name of %s gave %v", foreign, err)
		}
		if running := docker(t, "inspect", "-f", "{{.State.Running}}", "gpunex-"+foreign); running != "true" {
			t.Errorf("%s was touched", foreign)
		}
	}
	if states, err := two.List(t.Context()); err != nil || len(states) != 0 {
		t.Errorf("the second guard sees %+v, %v", states, err)
	}
}

func TestEngineAway(t *testing.T) {
	c := guard.NewClient(serve(t, guard.Config{Instance: "away", Policy: policy(), DockerHost: "unix://" + filepath.Join(t.TempDir(), "none.sock")}))
	if states, err := c.List(t.Context()); !errors.Is(err, workload.ErrAway) || states != nil {
		t.Errorf("list gave %v, %v", states, err)
	}
	err := c.Start(t.Context(), workload.Spec{Rental: "rnt_1", Image: image, CPUs: 1, RAMMiB: 64}, func(protocol.Phase) {})
	if !errors.Is(err, workload.ErrAway) {
		t.Errorf("start gave %v", err)
	}
	if err := c.Remove(t.Context(), "rnt_1"); !errors.Is(err, workload.ErrAway) {
		t.Errorf("remove gave %v", err)
	}
	if _, err := guard.NewClient(filepath.Join(t.TempDir(), "no.sock")).List(t.Context()); !errors.Is(err, workload.ErrAway) {
		t.Errorf("without a guard list gave %v", err)
	}
}

func TestHostileRequests(t *testing.T) {
	socket := serve(t, guard.Config{Instance: "hostile", Policy: policy()})
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", socket)
	}}}
	defer client.CloseIdleConnections()
	base := `"rental":"rnt_1","image":"gpunex/hello:1","cpus":1,"ram_mib":64`
	for name, c := range map[string]struct {
		body string
		want int
	}{
		"bind mount":        {`{` + base + `,"binds":["/:/host"]}`, 400},
		"mounts":            {`{` + base + `,"mounts":[{"source":"/"}]}`, 400},
		"privileged":        {`{` + base + `,"privileged":true}`, 400},
		"devices":           {`{` + base + `,"devices":["/dev/mem"]}`, 400},
		"capability":        {`{` + base + `,"cap_add":["SYS_ADMIN"]}`, 400},
		"pid namespace":     {`{` + base + `,"pid_mode":"host"}`, 400},
		"host network":      {`{` + base + `,"network_mode":"host"}`, 400},
		"engine's words":    {`{` + base + `,"HostConfig":{"Privileged":true}}`, 400},
		"security":          {`{` + base + `,"security_opt":["seccomp=unconfined"]}`, 400},
		"runtime":           {`{` + base + `,"runtime":"x"}`, 400},
		"user":              {`{` + base + `,"user":"0"}`, 400},
		"no JSON":           {`hello`, 400},
		"two requests":      {`{` + base + `}{` + base + `}`, 400},
		"empty":             {``, 400},
		"giant":             {`{` + base + `,"env":{"A":"` + strings.Repeat("x", 70<<10) + `"}}`, 413},
		"all GPUs":          {`{` + base + `,"gpus":["all"]}`, 403},
		"star":              {`{` + base + `,"gpus":["*"]}`, 403},
		"other GPU":         {`{` + base + `,"gpus":["GPU-sim-9999"]}`, 403},
		"preload":           {`{` + base + `,"env":{"LD_PRELOAD":"/x.so"}}`, 403},
		"all devices":       {`{` + base + `,"env":{"NVIDIA_VISIBLE_DEVICES":"all"}}`, 403},
		"unicode rental":    {`{"rental":"rnt_ｅ","image":"a","cpus":1,"ram_mib":64}`, 403},
		"path rental":       {`{"rental":"../../etc","image":"a","cpus":1,"ram_mib":64}`, 403},
		"image with option": {`{"rental":"rnt_1","image":"--privileged","cpus":1,"ram_mib":64}`, 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://guard/v1/workloads", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var e workload.Error
		err = json.NewDecoder(resp.Body).Decode(&e)
		resp.Body.Close()
		if resp.StatusCode != c.want || err != nil || e.Code != protocol.FailRefused {
			t.Errorf("%s: status %d, %+v, %v; want %d", name, resp.StatusCode, e, err, c.want)
		}
	}
}

func TestOtherUsersAreRefused(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "guard.sock")
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, not passed: only root can give the socket to another user")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- guard.Run(ctx, guard.Config{Socket: socket, UID: 65532, Instance: "uid", Policy: policy()}, slog.New(slog.DiscardHandler))
	}()
	workloadtest.Eventually(t, "socket", 5*time.Second, func() bool { _, err := os.Stat(socket); return err == nil })
	if _, err := guard.NewClient(socket).List(t.Context()); !errors.Is(err, workload.ErrAway) {
		t.Errorf("a user who isn't allowed got %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Numbers of lines are the same however often and from wherever the output is read: while it runs and after.
func TestOutputHasTheSameNumbersEveryTime(t *testing.T) {
	needDocker(t)
	removeNetwork(t, "burst")
	c := guard.NewClient(serve(t, guard.Config{Instance: "burst", Policy: policy()}))
	spec := workload.Spec{Rental: "rnt_burst", Image: image, Command: []string{"burst", "3000"}, CPUs: 1, RAMMiB: 64}
	t.Cleanup(func() { _ = c.Remove(context.Background(), spec.Rental) })
	if err := c.Start(t.Context(), spec, func(protocol.Phase) {}); err != nil {
		t.Fatal(err)
	}
	read := func(from workload.Mark) (lines []protocol.LogLine) {
		if err := c.Logs(t.Context(), spec.Rental, from, func(l protocol.LogLine) error {
			lines = append(lines, l)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return lines
	}
	live := read(workload.Mark{})
	if len(live) != 3000 {
		t.Fatalf("%d lines while it ran", len(live))
	}
	errors := 0
	for _, l := range live {
		if l.Stream == "stderr" {
			errors++
		}
	}
	if errors != 300 {
		t.Errorf("%d lines on stderr", errors)
	}
	for _, from := range []workload.Mark{{}, {Next: 1234}, {Next: 1234, After: live[1233].At}, {Next: 3000, After: live[2999].At}} {
		again := read(from)
		if !slices.Equal(again, live[from.Next:]) {
			t.Errorf("from %+v: %d lines, want %d, or others", from, len(again), len(live)-int(from.Next))
		}
	}
}
