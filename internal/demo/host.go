package demo

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gpunex/gpunex/internal/agent/guard"
	"github.com/gpunex/gpunex/internal/agent/hardware"
)

// Host is a simulated provider host: real agent and guard processes, a real container engine where there is one, GPUs
// that exist only in a profile.
type Host struct {
	Agent    string // path of the gpunex-agent program
	Dir      string // its state
	Name     string
	Profile  string // as in h100-sxmx2
	Platform string // URL
	Token    string
	Docker   bool // containers run in the engine; else the simulated runtime, named as such
	Log      io.Writer

	guard, agent *process
}

// Start starts guard and agent. It works again on the same folder: the agent then has its key and adopts what runs.
func (h *Host) Start() error {
	if err := os.MkdirAll(h.Dir, 0o700); err != nil {
		return err
	}
	abs, err := filepath.Abs(h.Dir)
	if err != nil {
		return err
	}
	h.Dir = abs
	args := []string{"agent", "--platform", h.Platform, "--state", filepath.Join(h.Dir, "state"), "--simulate", h.Profile, "--name", h.Name}
	if h.Docker {
		if err := h.writePolicy(); err != nil {
			return err
		}
		if err := h.startGuard(); err != nil {
			return err
		}
		args = append(args, "--guard", h.socket())
	} else {
		args = append(args, "--runtime", "simulated")
	}
	return h.startAgent(args)
}

func (h *Host) socket() string { return filepath.Join(h.Dir, "guard.sock") }

// instance tells this host's containers from those of other hosts on the same engine, and is the same after a restart.
func (h *Host) instance() string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(h.Dir)) // never fails
	return fmt.Sprintf("%s-%08x", h.Name, sum.Sum32())
}

func (h *Host) startGuard() (err error) {
	args := []string{"guard", "--socket", h.socket(), "--policy", filepath.Join(h.Dir, "policy.json"), "--instance", h.instance()}
	if engine := os.Getenv("DOCKER_HOST"); engine != "" {
		args = append(args, "--docker-host", engine)
	}
	h.guard, err = spawn("guard", nil, h.Log, h.Agent, args...)
	return err
}

func (h *Host) startAgent(args []string) (err error) {
	h.agent, err = spawn("agent", []string{"GPUNEX_TOKEN=" + h.Token}, h.Log, h.Agent, args...)
	return err
}

// writePolicy writes what the provider of this host would: all of its GPUs, most of its machine.
func (h *Host) writePolicy() error {
	profile, err := hardware.Load(h.Profile, h.Name)
	if err != nil {
		return err
	}
	p := guard.Policy{
		GPUs: hardware.NewSimulated(profile, time.Now).UUIDs(), Simulated: true,
		MaxCPUs: 4096, MaxRAMMiB: 16 << 20, MaxDiskMiB: 64 << 20,
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(h.Dir, "policy.json"), b, 0o600); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	return nil
}

// Stop ends both. Containers go on, as after any restart of an agent.
func (h *Host) Stop() {
	h.agent.stop()
	h.guard.stop()
}

// Leave stops both for good and gives the engine's network back: an engine has addresses for about 30.
func (h *Host) Leave() {
	h.Stop()
	if h.guard != nil {
		cmd := exec.Command("docker", "network", "rm", "gpunex-"+h.instance()) //nolint:noctx,gosec // at the end, when every context is over; its name is our own
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(h.Log, "the network of %s stays: %v %s\n", h.Name, err, out)
		}
	}
}
