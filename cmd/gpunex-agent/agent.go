package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/gpunex/gpunex/internal/agent"
	"github.com/gpunex/gpunex/internal/agent/guard"
	"github.com/gpunex/gpunex/internal/agent/hardware"
	"github.com/gpunex/gpunex/internal/agent/simruntime"
	"github.com/gpunex/gpunex/internal/agent/uplink"
	"github.com/gpunex/gpunex/internal/agent/workload"
)

type agentOptions struct {
	platform, dir, socket, runtime, simulate, name, tokenFile string
	grace                                                     time.Duration
}

func runAgent(ctx context.Context, args []string, out io.Writer, log *slog.Logger) error {
	var o agentOptions
	fs := flags("agent", out)
	fs.StringVar(&o.platform, "platform", env("GPUNEX_PLATFORM", ""), "the platform's URL (GPUNEX_PLATFORM)")
	fs.StringVar(&o.dir, "state", env("GPUNEX_STATE", "/var/lib/gpunex-agent"), "directory for the host's key and journal (GPUNEX_STATE)")
	fs.StringVar(&o.socket, "guard", env("GPUNEX_GUARD", "/run/gpunex/guard.sock"), "the guard's socket (GPUNEX_GUARD)")
	fs.StringVar(&o.runtime, "runtime", env("GPUNEX_RUNTIME", "docker"), "docker, or simulated to run nothing (GPUNEX_RUNTIME)")
	fs.StringVar(&o.simulate, "simulate", env("GPUNEX_SIMULATE", ""), "simulated GPUs: a profile file, or MODELxCOUNT (GPUNEX_SIMULATE)")
	fs.StringVar(&o.name, "name", env("GPUNEX_NAME", ""), "this host's name; its own unless given (GPUNEX_NAME)")
	fs.StringVar(&o.tokenFile, "token-file", "", "file with the enrolment token; GPUNEX_TOKEN does too")
	fs.DurationVar(&o.grace, "orphan-grace", time.Minute, "how long a container that the platform doesn't know is left alone")
	if err := fs.Parse(args); err != nil {
		return err
	}
	o.name = hostName(o.name)
	var errs []error
	if o.platform == "" {
		errs = append(errs, errors.New("the platform's URL is missing: give --platform"))
	}
	if o.simulate == "" {
		errs = append(errs, hardware.ErrNoDriver)
	}
	if o.runtime != "docker" && o.runtime != "simulated" {
		errs = append(errs, fmt.Errorf("--runtime is docker or simulated, not %q", o.runtime))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return o.run(ctx, log)
}

func (o agentOptions) run(ctx context.Context, log *slog.Logger) error {
	profile, err := hardware.Load(o.simulate, o.name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	unlock, err := lock(o.dir)
	if err != nil {
		return err
	}
	defer unlock()
	driver := hardware.NewSimulated(profile, time.Now)
	cfg := agent.Config{
		Version: version, StateDir: o.dir, Driver: driver, Meter: driver, Simulated: true,
		Grace: o.grace, Now: time.Now, Log: log,
	}
	if o.runtime == "simulated" {
		sim, err := simruntime.Open(o.dir, machine(), time.Now)
		if err != nil {
			return err
		}
		cfg.Runtime, cfg.Info = sim, as(profile, sim.Info)
	} else {
		client := guard.NewClient(o.socket)
		cfg.Runtime, cfg.Info = client, as(profile, client.Info)
	}
	// The link's events may come before the host exists; the first pass looks at everything anyway.
	host := make(chan *agent.Host, 1)
	tell := func(what func(*agent.Host)) func() {
		return func() {
			select {
			case h := <-host:
				host <- h
				what(h)
			default:
			}
		}
	}
	link, err := uplink.Connect(ctx, uplink.Enrolment{
		Platform: o.platform, Dir: o.dir, Version: version, Hostname: o.name, Token: func() (string, error) { return o.token(ctx) }, Now: time.Now,
	}, uplink.Events{Hint: tell((*agent.Host).Hint), Reconnected: tell((*agent.Host).Reconnected)}, log)
	if err != nil {
		return err
	}
	defer link.Close()
	cfg.Link = link
	h, err := agent.New(cfg)
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }() // every entry has been synced
	host <- h
	log.Info("agent_runs", "host", link.Host(), "platform", o.platform, "runtime", o.runtime, "simulated", o.simulate)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.Run(ctx) })
	group.Go(func() error { return link.Run(ctx) })
	return group.Wait()
}

// as makes a machine say what its profile says of it.
func as(p hardware.Profile, real func(context.Context) (workload.Info, error)) func(context.Context) (workload.Info, error) {
	return func(ctx context.Context) (workload.Info, error) {
		info, err := real(ctx)
		if p.CPUs > 0 {
			info.CPUs = p.CPUs
		}
		if p.RAMMiB > 0 {
			info.RAMMiB = p.RAMMiB
		}
		if p.DiskMiB > 0 {
			info.DiskMiB = p.DiskMiB
		}
		return info, err
	}
}

// machine is what a runtime without an engine tells of the machine; a profile usually says otherwise.
func machine() workload.Info {
	info := workload.Info{Runtime: "simulated", Version: version, Isolation: []string{}, CPUs: runtime.NumCPU(), Kernel: runtime.GOOS}
	var s syscall.Sysinfo_t
	if err := syscall.Sysinfo(&s); err == nil {
		info.RAMMiB = int64(uint64(s.Totalram) * uint64(s.Unit) >> 20)
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs("/", &fs); err == nil {
		info.DiskMiB = int64(fs.Bavail) * fs.Bsize >> 20
	}
	return info
}

func hostName(given string) string {
	if given != "" {
		return given
	}
	if n, err := os.Hostname(); err == nil {
		return n
	}
	return "host"
}

// lock keeps a second agent out of the same state directory: two would start everything twice.
func lock(dir string) (func(), error) {
	f, err := os.OpenFile(dir+"/lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("another agent uses the state directory %s", dir)
	}
	return func() { _ = f.Close() }, nil
}

// token finds the enrolment token without letting it into a process list or a shell's history.
func (o agentOptions) token(ctx context.Context) (string, error) {
	if t := os.Getenv("GPUNEX_TOKEN"); t != "" {
		return t, nil
	}
	if o.tokenFile != "" {
		b, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return "", fmt.Errorf("token: %w", err)
		}
		return strings.TrimSpace(string(b)), nil
	}
	fd := int(os.Stdin.Fd())
	was, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return "", nil // nobody to ask; the enrolment says what is missing
	}
	hidden := *was
	hidden.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &hidden); err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	defer func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, was) }()
	fmt.Fprint(os.Stderr, "Enrolment token: ")
	type answer struct {
		line string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(os.Stdin).ReadString('\n')
		answered <- answer{line, err}
	}()
	select {
	case a := <-answered:
		fmt.Fprintln(os.Stderr)
		if a.err != nil {
			return "", fmt.Errorf("token: %w", a.err)
		}
		return strings.TrimSpace(a.line), nil
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr)
		return "", ctx.Err()
	}
}
