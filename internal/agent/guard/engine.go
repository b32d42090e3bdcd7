package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

// stopGrace is how long a workload has to end by itself before it is killed.
const stopGrace = 10 // seconds

// Engine does the guard's few deeds on a container engine.
type Engine struct {
	docker *client.Client
	policy Policy
	site   Site
	log    *slog.Logger
	// creating makes the check that a GPU is free and the creation one step.
	creating sync.Mutex
}

// NewEngine makes an Engine. host is the engine's address, empty for the usual one. Nothing is dialled yet: the engine
// may be away and come back.
func NewEngine(host, instanceName string, p Policy, log *slog.Logger) (*Engine, error) {
	if !instance.MatchString(instanceName) {
		return nil, fmt.Errorf("%q can't name a guard: use small letters, digits, - and _", instanceName)
	}
	var opts []client.Opt // the client negotiates the API's version by itself
	if host != "" {
		opts = append(opts, client.WithHost(host))
	}
	docker, err := client.New(opts...)
	if err != nil {
		return nil, fmt.Errorf("container engine: %w", err)
	}
	return &Engine{docker: docker, policy: p, site: Site{Instance: instanceName}, log: log}, nil
}

// Close ends the connections to the engine.
func (e *Engine) Close() error { return e.docker.Close() }

// List tells every container of this guard. It never answers with a part: what can't be read is an error.
func (e *Engine) List(ctx context.Context) ([]workload.State, error) {
	found, err := e.docker.ContainerList(ctx, client.ContainerListOptions{
		All:     true,
		Filters: make(client.Filters).Add("label", LabelInstance+"="+e.site.Instance),
	})
	if err != nil {
		return nil, e.fail("list containers", err)
	}
	states := make([]workload.State, 0, len(found.Items))
	for _, item := range found.Items {
		c, err := e.docker.ContainerInspect(ctx, item.ID, client.ContainerInspectOptions{})
		if errdefs.IsNotFound(err) {
			continue // removed since it was listed
		}
		if err != nil {
			return nil, e.fail("inspect container", err)
		}
		states = append(states, stateOf(c.Container))
	}
	slices.SortFunc(states, func(a, b workload.State) int { return strings.Compare(a.Rental, b.Rental) })
	return states, nil
}

func stateOf(c container.InspectResponse) workload.State {
	s := workload.State{
		Rental:     c.Config.Labels[LabelRental],
		Image:      c.Config.Image,
		StartedAt:  parseTime(c.State.StartedAt),
		FinishedAt: parseTime(c.State.FinishedAt),
		ExitCode:   c.State.ExitCode,
	}
	if gpus := c.Config.Labels[LabelGPUs]; gpus != "" {
		s.GPUs = strings.Split(gpus, ",")
	}
	switch c.State.Status {
	case container.StateCreated:
		s.Phase, s.ExitCode = workload.Created, 0
	case container.StateRunning, container.StatePaused, container.StateRestarting:
		s.Phase, s.ExitCode = workload.Running, 0
	default:
		s.Phase = workload.Exited
		if c.State.OOMKilled {
			s.Note = "it was killed because it used more memory than it had rented"
		}
	}
	return s
}

// parseTime reads an engine's time; the engine's "never" is the zero time.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() <= 1 {
		return time.Time{}
	}
	return t
}

// find looks a workload up. Containers of others are not found.
func (e *Engine) find(ctx context.Context, rental string) (container.InspectResponse, error) {
	if !workload.ValidRental(rental) {
		return container.InspectResponse{}, workload.ErrUnknown
	}
	c, err := e.docker.ContainerInspect(ctx, containerName(rental), client.ContainerInspectOptions{})
	if errdefs.IsNotFound(err) {
		return container.InspectResponse{}, workload.ErrUnknown
	}
	if err != nil {
		return container.InspectResponse{}, e.fail("inspect container", err)
	}
	labels := c.Container.Config.Labels
	if labels[LabelInstance] != e.site.Instance || labels[LabelRental] != rental {
		return container.InspectResponse{}, workload.ErrUnknown
	}
	return c.Container, nil
}

// Stop ends a workload and keeps its container.
func (e *Engine) Stop(ctx context.Context, rental string) error {
	c, err := e.find(ctx, rental)
	if err != nil {
		return err
	}
	grace := stopGrace
	if _, err := e.docker.ContainerStop(ctx, c.ID, client.ContainerStopOptions{Timeout: &grace}); err != nil && !errdefs.IsNotFound(err) {
		return e.fail("stop container", err)
	}
	return nil
}

// Remove ends a workload and removes its container and volumes. A workload that isn't there is removed.
func (e *Engine) Remove(ctx context.Context, rental string) error {
	c, err := e.find(ctx, rental)
	if errors.Is(err, workload.ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.State.Running {
		if err := e.Stop(ctx, rental); err != nil && !errors.Is(err, workload.ErrUnknown) {
			return err
		}
	}
	_, err = e.docker.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) {
		return e.fail("remove container", err)
	}
	return nil
}

// Info tells what the engine runs on.
func (e *Engine) Info(ctx context.Context) (workload.Info, error) {
	r, err := e.docker.Info(ctx, client.InfoOptions{})
	if err != nil {
		return workload.Info{}, e.fail("ask engine", err)
	}
	info := workload.Info{
		Runtime: "docker", Version: r.Info.ServerVersion, Isolation: []string{"runc"},
		CPUs: r.Info.NCPU, RAMMiB: r.Info.MemTotal >> 20, Kernel: r.Info.KernelVersion,
		DiskMiB: e.policy.MaxDiskMiB,
	}
	if _, ok := r.Info.Runtimes["runsc"]; ok {
		info.Isolation = append(info.Isolation, "gvisor")
	}
	var fs syscall.Statfs_t // in a container the engine's root isn't seen: then the policy's figure stands
	if err := syscall.Statfs(r.Info.DockerRootDir, &fs); err == nil {
		info.DiskMiB = int64(fs.Bavail) * fs.Bsize >> 20
	}
	return info, nil
}

// fail sorts an engine's error: an engine that can't be reached says nothing about workloads.
func (e *Engine) fail(doing string, err error) error {
	if client.IsErrConnectionFailed(err) || errdefs.IsUnavailable(err) {
		return fmt.Errorf("%w: %s: %w", workload.ErrAway, doing, err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return workload.Failf(protocol.FailEngine, "%s: %s", doing, err)
}
