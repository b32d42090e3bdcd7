package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/gpunex/gpunex/internal/agent/guard"
	"github.com/gpunex/gpunex/internal/agent/hardware"
)

func runGuard(ctx context.Context, args []string, out io.Writer, log *slog.Logger) error {
	fs := flags("guard", out)
	socket := fs.String("socket", env("GPUNEX_GUARD", "/run/gpunex/guard.sock"), "Unix socket to listen on (GPUNEX_GUARD)")
	policy := fs.String("policy", env("GPUNEX_POLICY", "/etc/gpunex/policy.json"), "the provider's policy file (GPUNEX_POLICY)")
	name := fs.String("instance", env("GPUNEX_INSTANCE", "host"), "name of this guard among those on one engine (GPUNEX_INSTANCE)")
	docker := fs.String("docker-host", env("DOCKER_HOST", ""), "the engine's address (DOCKER_HOST); empty for unix:///var/run/docker.sock")
	uid := fs.Int("uid", os.Getuid(), "the only user who may use the socket")
	if err := fs.Parse(args); err != nil {
		return err
	}
	p, err := guard.ReadPolicy(*policy)
	if err != nil {
		return err
	}
	return guard.Run(ctx, guard.Config{Socket: *socket, UID: *uid, Instance: *name, DockerHost: *docker, Policy: p}, log)
}

// runPolicy writes the policy that fits a simulated host, so that nobody has to copy UUIDs.
func runPolicy(args []string, out io.Writer) error {
	fs := flags("policy", out)
	simulate := fs.String("simulate", "", "the simulated host's profile: a file, or MODELxCOUNT")
	name := fs.String("name", "", "the simulated host's name, as the agent gets it")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *simulate == "" {
		return errors.New("policy: --simulate is missing")
	}
	profile, err := hardware.Load(*simulate, hostName(*name))
	if err != nil {
		return err
	}
	p := guard.Policy{
		GPUs: hardware.NewSimulated(profile, time.Now).UUIDs(), Simulated: true,
		MaxCPUs: float64(max(profile.CPUs, 256)), MaxRAMMiB: max(profile.RAMMiB, 4<<20), MaxDiskMiB: max(profile.DiskMiB, 64<<20),
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(b))
	return err
}
