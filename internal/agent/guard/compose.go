package guard

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

// The labels of every container that a guard makes. A container without its guard's instance label doesn't exist for
// that guard.
const (
	LabelRental   = "com.gpunex.rental"
	LabelGPUs     = "com.gpunex.gpus"
	LabelInstance = "com.gpunex.instance"
)

const (
	maxGPUs    = 64
	maxEnv     = 256
	maxArgs    = 256
	minRAMMiB  = 16
	pidsPerCPU = 1024
	minPids    = 512
	maxPids    = 16384
)

var (
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	uuid     = regexp.MustCompile(`^(GPU|MIG)-[A-Za-z0-9-]{4,80}$`)
	instance = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,40}$`)
	imageRef = regexp.MustCompile(`^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::[0-9]{1,5})?/)?` + // registry
		`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*` + // path
		`(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`)
)

// kept are the capabilities that package managers in images need; every other one is dropped.
var kept = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETUID", "SETGID", "KILL", "NET_BIND_SERVICE"}

// Site is what Compose must know of the engine that it composes for.
type Site struct {
	Instance string
	CPUs     int   // of the engine's machine, 0 if not known
	RAMMiB   int64 // the same
}

func (s Site) network() string { return "gpunex-" + s.Instance }

func containerName(rental string) string { return "gpunex-" + rental }

// Compose turns a request into a container's whole settings, or says why the provider doesn't allow it. It is pure.
func Compose(r workload.Spec, p Policy, s Site) (client.ContainerCreateOptions, *workload.Error) {
	if refusal := judge(r, p); refusal != nil {
		return client.ContainerCreateOptions{}, refusal
	}
	cpus, ram := r.CPUs, r.RAMMiB
	if p.Simulated { // a profile may promise more than this machine has
		if s.CPUs > 0 {
			cpus = min(cpus, float64(s.CPUs))
		}
		if s.RAMMiB > 0 {
			ram = min(ram, s.RAMMiB)
		}
	}
	memory := ram << 20
	pids := int64(math.Min(maxPids, math.Max(minPids, r.CPUs*pidsPerCPU)))
	initProcess := true
	host := &container.HostConfig{
		NetworkMode:   container.NetworkMode(s.network()),
		IpcMode:       container.IPCModePrivate,
		CgroupnsMode:  container.CgroupnsModePrivate,
		CapDrop:       []string{"ALL"},
		CapAdd:        slices.Clone(kept),
		SecurityOpt:   []string{"no-new-privileges"},
		ShmSize:       max(64<<20, memory/2),
		Init:          &initProcess,
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		LogConfig:     container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "10m", "max-file": "2"}},
		Resources: container.Resources{
			NanoCPUs:   int64(cpus * 1e9),
			Memory:     memory,
			MemorySwap: memory, // no swap
			PidsLimit:  &pids,
			Ulimits: []*container.Ulimit{
				{Name: "core", Soft: 0, Hard: 0},
			},
		},
	}
	if !p.Simulated { // an engine inside of a container, as simulated hosts have, may not raise limits
		host.Ulimits = append(host.Ulimits, &container.Ulimit{Name: "nofile", Soft: 1 << 16, Hard: 1 << 19})
	}
	if p.DiskQuota {
		host.StorageOpt = map[string]string{"size": strconv.FormatInt(r.DiskMiB, 10) + "M"}
	}
	env := make([]string, 0, len(r.Env)+1)
	for _, k := range slices.Sorted(maps.Keys(r.Env)) {
		env = append(env, k+"="+r.Env[k])
	}
	if len(r.GPUs) > 0 && !p.Simulated {
		host.DeviceRequests = []container.DeviceRequest{{
			Driver: "nvidia", DeviceIDs: slices.Clone(r.GPUs), Capabilities: [][]string{{"gpu", "compute", "utility"}},
		}}
		// CUDA pins memory; the memory limit still holds.
		host.Ulimits = append(host.Ulimits, &container.Ulimit{Name: "memlock", Soft: -1, Hard: -1})
	} else {
		// CUDA images ask for all GPUs by this variable, and a default nvidia runtime would obey.
		env = append(env, "NVIDIA_VISIBLE_DEVICES=void")
	}
	return client.ContainerCreateOptions{
		Name:       containerName(r.Rental),
		HostConfig: host,
		Config: &container.Config{
			Image: r.Image,
			Cmd:   slices.Clone(r.Command),
			Env:   env,
			Labels: map[string]string{
				LabelRental: r.Rental, LabelGPUs: strings.Join(r.GPUs, ","), LabelInstance: s.Instance,
			},
		},
	}, nil
}

// judge says why a request is refused, nil if it isn't.
func judge(r workload.Spec, p Policy) *workload.Error {
	refuse := func(format string, args ...any) *workload.Error {
		return workload.Failf(protocol.FailRefused, format, args...)
	}
	switch {
	case !workload.ValidRental(r.Rental):
		return refuse("%q is not a rental's identifier", r.Rental)
	case len(r.Image) > 255 || !imageRef.MatchString(r.Image):
		return refuse("%q is not an image's name", r.Image)
	case len(r.Command) > maxArgs:
		return refuse("the command has %d parts; %d are allowed", len(r.Command), maxArgs)
	case len(r.Env) > maxEnv:
		return refuse("there are %d environment variables; %d are allowed", len(r.Env), maxEnv)
	case len(r.GPUs) > maxGPUs:
		return refuse("%d GPUs are asked for; %d are allowed", len(r.GPUs), maxGPUs)
	case !(r.CPUs >= 0.01 && r.CPUs <= p.MaxCPUs): // written so that NaN is refused too
		return refuse("%g CPUs are asked for; the provider allows 0.01 to %g", r.CPUs, p.MaxCPUs)
	case r.RAMMiB < minRAMMiB || r.RAMMiB > p.MaxRAMMiB:
		return refuse("%d MiB of memory are asked for; the provider allows %d to %d", r.RAMMiB, minRAMMiB, p.MaxRAMMiB)
	case r.DiskMiB < 0 || r.DiskMiB > p.MaxDiskMiB:
		return refuse("%d MiB of disk are asked for; the provider allows up to %d", r.DiskMiB, p.MaxDiskMiB)
	}
	for _, arg := range r.Command {
		if strings.ContainsRune(arg, 0) {
			return refuse("the command contains a zero byte")
		}
	}
	for _, k := range slices.Sorted(maps.Keys(r.Env)) {
		upper := strings.ToUpper(k)
		if !envName.MatchString(k) {
			return refuse("%q is not an environment variable's name", k)
		}
		if strings.HasPrefix(upper, "NVIDIA_") || strings.HasPrefix(upper, "LD_") {
			return refuse("the environment variable %s is not allowed: it could reach devices or the host's libraries", k)
		}
		if strings.ContainsRune(r.Env[k], 0) {
			return refuse("the environment variable %s contains a zero byte", k)
		}
	}
	seen := map[string]bool{}
	for _, g := range r.GPUs {
		if !uuid.MatchString(g) || !p.designated(g) {
			return refuse("the GPU %q is not one that the provider lets", g)
		}
		if seen[strings.ToLower(g)] {
			return refuse("the GPU %q is asked for twice", g)
		}
		seen[strings.ToLower(g)] = true
	}
	return nil
}
