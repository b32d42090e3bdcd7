// Command gpunex-agent is the host side of GPUnex. Each of its commands is a process of its own, with few privileges:
//
//	gpunex-agent guard   the only holder of the container engine's socket
//	gpunex-agent agent   the loop that does what the platform wants, and tells what is
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the build.
var version = "dev"

const usage = `usage: gpunex-agent COMMAND [flags]

  agent    connect this host with a platform and run its rentals
  guard    hold the container engine's socket and run what the policy allows
  policy   write a policy file for a simulated host
  version  tell the version

gpunex-agent COMMAND -h lists a command's flags.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "gpunex-agent:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, errOut io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(errOut, usage)
		return errors.New("a command is missing")
	}
	level := slog.LevelInfo
	if os.Getenv("GPUNEX_DEBUG") != "" {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: level}))
	var err error
	switch args[0] {
	case "agent":
		err = runAgent(ctx, args[1:], errOut, log)
	case "guard":
		err = runGuard(ctx, args[1:], errOut, log)
	case "policy":
		err = runPolicy(args[1:], errOut)
	case "version":
		fmt.Println(version)
	case "help", "-h", "--help":
		fmt.Fprint(errOut, usage)
	default:
		fmt.Fprint(errOut, usage)
		err = fmt.Errorf("there is no command %q", args[0])
	}
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return err
}

// flags makes a flag set whose defaults come from the environment.
func flags(name string, out io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet("gpunex-agent "+name, flag.ContinueOnError)
	fs.SetOutput(out)
	return fs
}

func env(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}
