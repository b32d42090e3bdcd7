package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gpunex/gpunex/internal/controlplane"
	"github.com/gpunex/gpunex/internal/demo"
)

// demoImage is built by scripts/build-image.sh, since no registry can be assumed.
const demoImage = "gpunex/hello:1"

func dev(ctx context.Context, args []string) error {
	cfg := controlplane.Default()
	cfg.DataDir, cfg.Dev = ".data", true
	fs, parse := settings("dev", &cfg)
	agent := fs.String("agent", besideMe("gpunex-agent"), "`path` of the gpunex-agent program")
	empty := fs.Bool("empty", false, "no demo people, no simulated host")
	if err := parse(args); err != nil {
		return err
	}
	p, err := controlplane.New(ctx, cfg)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.Run(ctx) })
	if !*empty {
		docker := dockerAnswers(ctx)
		if !docker {
			fmt.Fprintln(os.Stderr, "No Docker engine answers here, so containers are SIMULATED (install docker.io and start dockerd to run real ones).")
		}
		log, err := os.Create(filepath.Join(cfg.DataDir, "host.log"))
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }()
		town := &demo.Town{Agent: *agent, Dir: filepath.Join(cfg.DataDir, "host"), Image: demoImage, Docker: docker, Out: os.Stdout, Log: log}
		g.Go(func() error { return town.Run(ctx, p) })
	}
	return g.Wait()
}

func runDemo(ctx context.Context, args []string) error {
	return headless(ctx, "demo", args, demo.Story)
}

func bench(ctx context.Context, args []string) error {
	return headless(ctx, "bench", args, func(ctx context.Context, c demo.Config) error {
		return demo.Bench(ctx, c, os.Getenv("ONLY"))
	})
}

// headless runs what needs real containers and prints on standard output.
func headless(ctx context.Context, name string, args []string, f func(context.Context, demo.Config) error) error {
	fs := flag.NewFlagSet("gpunexd "+name, flag.ContinueOnError)
	agent := fs.String("agent", besideMe("gpunex-agent"), "`path` of the gpunex-agent program")
	logPath := fs.String("log", "", "`file` for what platform and agent say")
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return errHelp
	} else if err != nil {
		return err
	}
	if !dockerAnswers(ctx) {
		return errors.New("this runs real containers, and no Docker engine answers: install docker.io and start dockerd (make " + name + " does)")
	}
	c := demo.Config{Agent: *agent, Image: demoImage, Out: os.Stdout, Log: io.Discard}
	if *logPath != "" {
		l, err := os.Create(*logPath)
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }()
		c.Log = l
	}
	return f(ctx, c)
}

// dockerAnswers says whether a container engine can be used.
func dockerAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "docker", "info").Run() == nil
}

// besideMe is a program in the folder of this one.
func besideMe(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}
