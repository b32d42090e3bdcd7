// Command gpunexd is the control plane: pages, link to hosts, workers.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

const usage = `gpunexd is the control plane of GPUnex.

  gpunexd dev                  everything on this machine, with a simulated host and demo people
  gpunexd serve                the platform
  gpunexd operator EMAIL       make EMAIL an operator; the password is asked for, or read from GPUNEX_PASSWORD
  gpunexd payouts run --now T  run the payouts that are due at T (RFC 3339); without --now, at this moment
  gpunexd payouts plan --now T what that run would pay; moves nothing
  gpunexd audit                prove that the books balance
  gpunexd demo                 the whole story, headless, with real parts
  gpunexd bench                figures of this machine, as name value unit; ONLY=NAME measures one

Each command explains its flags with --help.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, errHelp) {
		fmt.Fprintln(os.Stderr, "gpunexd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Print(usage)
		return nil
	}
	commands := map[string]func(context.Context, []string) error{
		"dev": dev, "serve": serve, "operator": operator, "payouts": payouts, "audit": audit, "demo": runDemo, "bench": bench,
	}
	if c, ok := commands[args[0]]; ok {
		return c(ctx, args[1:])
	}
	switch args[0] {
	case "help", "-h", "--help":
		fmt.Print(usage)
		return nil
	}
	return fmt.Errorf("no command %q; gpunexd help lists them", args[0])
}

func logger(verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}
