package guard

import (
	"context"
	"path"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// hasCommand looks whether what a created container would execute is in its image. The engine doesn't tell: it starts
// its own init, which finds nothing to execute and ends with 127, as a workload could too.
func (e *Engine) hasCommand(ctx context.Context, rental string) error {
	c, err := e.find(ctx, rental)
	if err != nil {
		return err
	}
	missing := workload.Failf(protocol.FailCommand, "the image %s has no command %q", c.Config.Image, c.Path)
	if c.Path == "" {
		return missing
	}
	for _, candidate := range candidates(c.Path, c.Config.WorkingDir, c.Config.Env) {
		s, err := e.docker.ContainerStatPath(ctx, c.ID, client.ContainerStatPathOptions{Path: candidate})
		if err == nil && !s.Stat.Mode.IsDir() {
			return nil
		}
		if err != nil && !errdefs.IsNotFound(err) {
			return e.fail("look for command", err)
		}
	}
	return missing
}

// candidates are the files that a command may mean, as execvp looks for them.
func candidates(command, dir string, env []string) []string {
	if dir == "" {
		dir = "/"
	}
	if strings.Contains(command, "/") {
		if !path.IsAbs(command) {
			command = path.Join(dir, command)
		}
		return []string{command}
	}
	search := usualPath
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = v
		}
	}
	var files []string
	for d := range strings.SplitSeq(search, ":") {
		if !path.IsAbs(d) {
			d = path.Join(dir, d)
		}
		files = append(files, path.Join(d, command))
	}
	return files
}
