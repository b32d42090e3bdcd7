package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

// createTimeout bounds an engine that hangs: others wait for the same lock.
const createTimeout = 3 * time.Minute

// Start makes a workload run: pull, create, start. It may be repeated: a container that exists is started if it never
// was, and otherwise left as it is. progress hears of each phase.
func (e *Engine) Start(ctx context.Context, r workload.Spec, progress func(protocol.Phase)) error {
	if _, refusal := Compose(r, e.policy, e.site); refusal != nil {
		return refusal
	}
	if err := e.pull(ctx, r.Image, progress); err != nil {
		return err
	}
	progress(protocol.PhaseCreating)
	// From here on a caller who goes away must not leave things half done.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
	defer cancel()
	return e.create(ctx, r)
}

// pull fetches an image that isn't there.
func (e *Engine) pull(ctx context.Context, image string, progress func(protocol.Phase)) error {
	_, err := e.docker.ImageInspect(ctx, image)
	if err == nil {
		return nil
	}
	if !errdefs.IsNotFound(err) {
		return e.fail("look for image", err)
	}
	progress(protocol.PhasePulling)
	stream, err := e.docker.ImagePull(ctx, image, client.ImagePullOptions{})
	if err == nil {
		err = stream.Wait(ctx)
	}
	if err == nil {
		return nil
	}
	var away error
	if away = e.fail("pull image", err); errors.Is(away, workload.ErrAway) || ctx.Err() != nil {
		return away
	}
	return workload.Failf(protocol.FailImage, "the image %s can't be pulled: %s", image, err)
}

func (e *Engine) create(ctx context.Context, r workload.Spec) error {
	e.creating.Lock()
	defer e.creating.Unlock()
	others, err := e.List(ctx)
	if err != nil {
		return err
	}
	for _, o := range others {
		if o.Rental == r.Rental || o.Phase == workload.Exited {
			continue
		}
		for _, g := range r.GPUs {
			if slices.ContainsFunc(o.GPUs, func(used string) bool { return strings.EqualFold(used, g) }) {
				return workload.Failf(protocol.FailRefused, "the GPU %s is in use by rental %s", g, o.Rental)
			}
		}
	}
	info, err := e.docker.Info(ctx, client.InfoOptions{})
	if err != nil {
		return e.fail("ask engine", err)
	}
	if err := e.network(ctx); err != nil {
		return err
	}
	site := e.site
	site.CPUs, site.RAMMiB = info.Info.NCPU, info.Info.MemTotal>>20
	settings, refusal := Compose(r, e.policy, site)
	if refusal != nil {
		return refusal
	}
	_, err = e.docker.ContainerCreate(ctx, settings)
	switch {
	case errdefs.IsConflict(err):
		// The name is taken: by an earlier try of ours, or by somebody who may keep it.
		c, err := e.find(ctx, r.Rental)
		if errors.Is(err, workload.ErrUnknown) {
			return workload.Failf(protocol.FailEngine, "a container that is not ours has the name %s", settings.Name)
		}
		if err != nil {
			return err
		}
		if stateOf(c).Phase != workload.Created {
			return nil // it runs, or ran: never twice
		}
	case errdefs.IsNotFound(err):
		return workload.Failf(protocol.FailImage, "the image %s vanished before it could run", r.Image)
	case err != nil && strings.Contains(strings.ToLower(err.Error()), "no command specified"):
		return workload.Failf(protocol.FailCommand, "the image %s names no command to run; give one", r.Image)
	case err != nil:
		return e.fail("create container", err)
	}
	err = e.hasCommand(ctx, r.Rental)
	if err == nil {
		_, err = e.docker.ContainerStart(ctx, settings.Name, client.ContainerStartOptions{})
	}
	if err == nil {
		return nil
	}
	if failure := (*workload.Error)(nil); !errors.As(err, &failure) {
		err = e.fail("start container", err)
	}
	if errors.Is(err, workload.ErrAway) {
		return err // it may have started: the next try sees
	}
	if removal := e.Remove(ctx, r.Rental); removal != nil {
		e.log.Warn("container_left", "rental", r.Rental, "error", removal)
	}
	if commandMissing(err.Error()) {
		return workload.Failf(protocol.FailCommand, "the command can't be run in the image %s: %s", r.Image, lastPart(err.Error()))
	}
	return err
}

// commandMissing knows how engines of all versions say that there is nothing to execute.
func commandMissing(text string) bool {
	text = strings.ToLower(text)
	if strings.Contains(text, "no command specified") {
		return true
	}
	if !strings.Contains(text, "exec") {
		return false
	}
	for _, sign := range []string{"executable file not found", "no such file or directory", "permission denied", "is a directory", "exec format error"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// lastPart is the end of an engine's chain of words, where the cause is.
func lastPart(text string) string {
	if i := strings.LastIndex(text, "exec: "); i >= 0 {
		return text[i:]
	}
	return text
}

// network makes the guard's own bridge where it is missing: containers on it don't see one another.
func (e *Engine) network(ctx context.Context) error {
	_, err := e.docker.NetworkInspect(ctx, e.site.network(), client.NetworkInspectOptions{})
	if err == nil {
		return nil
	}
	if !errdefs.IsNotFound(err) {
		return e.fail("look for network", err)
	}
	_, err = e.docker.NetworkCreate(ctx, e.site.network(), client.NetworkCreateOptions{
		Driver:  "bridge",
		Options: map[string]string{"com.docker.network.bridge.enable_icc": "false"},
		Labels:  map[string]string{LabelInstance: e.site.Instance},
	})
	if err != nil && !errdefs.IsConflict(err) {
		return fmt.Errorf("network %s: %w", e.site.network(), e.fail("create network", err))
	}
	return nil
}
