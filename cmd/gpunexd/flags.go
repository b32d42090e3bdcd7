package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/gpunex/gpunex/internal/controlplane"
	"github.com/gpunex/gpunex/internal/money"
)

// errHelp ends a command that was only asked for its flags.
var errHelp = errors.New("help")

// settings binds a configuration to flags. Each flag can be set by the environment too: --smtp by GPUNEX_SMTP.
func settings(name string, cfg *controlplane.Config) (fs *flag.FlagSet, parse func([]string) error) {
	fs = flag.NewFlagSet("gpunexd "+name, flag.ContinueOnError)
	fs.StringVar(&cfg.DataDir, "data", cfg.DataDir, "`folder` for the built-in database and the bus's keys")
	fs.StringVar(&cfg.Listen, "listen", cfg.Listen, "`address` of the pages")
	fs.StringVar(&cfg.PublicURL, "url", cfg.PublicURL, "`address` at which people and hosts reach the platform (default http://localhost:PORT)")
	fs.StringVar(&cfg.DatabaseURL, "database", cfg.DatabaseURL, "PostgreSQL `URL`; empty runs the built-in one")
	fs.StringVar(&cfg.BusURL, "bus", cfg.BusURL, "NATS `URL`; empty runs the embedded one")
	fs.StringVar(&cfg.BusListen, "bus-listen", cfg.BusListen, "`address` of the embedded bus")
	fs.StringVar(&cfg.BusPublic, "bus-url", cfg.BusPublic, "`address` at which hosts reach the bus (default: as it listens)")
	fs.StringVar(&cfg.SMTP, "smtp", cfg.SMTP, "mail server, as in smtp://user:password@host:587?from=gpunex@example.com; empty keeps mails in the outbox")
	fs.BoolVar(&cfg.Dev, "dev", cfg.Dev, "operators may hand out test money and read the outbox")
	fs.DurationVar(&cfg.HeartbeatInterval, "heartbeat", cfg.HeartbeatInterval, "`time` between a host's heartbeats")
	fs.DurationVar(&cfg.Unreachable, "unreachable", cfg.Unreachable, "silence after which billing stops")
	fs.DurationVar(&cfg.Lost, "lost", cfg.Lost, "silence after which a rental ends as host offline")
	fs.DurationVar(&cfg.SettleEvery, "settle", cfg.SettleEvery, "`time` between settlements of a running rental")
	fs.DurationVar(&cfg.Maturity, "maturity", cfg.Maturity, "`time` from earned to payable")
	fs.IntVar(&cfg.FeeBPS, "fee", cfg.FeeBPS, "platform fee in hundredths of a percent")
	fs.Func("payout-minimum", "`USDC` below which a payout carries over (default 50)", func(s string) (err error) {
		cfg.PayoutMinimum, err = money.Parse(s)
		return err
	})
	fs.Func("roles", "comma-separated parts to run: web, link, worker (default all)", func(s string) error {
		cfg.Roles = nil
		for r := range strings.SplitSeq(s, ",") {
			cfg.Roles = append(cfg.Roles, controlplane.Role(strings.TrimSpace(r)))
		}
		return nil
	})
	verbose := fs.Bool("verbose", false, "log everything")
	return fs, func(args []string) error {
		var errs []error
		fs.VisitAll(func(f *flag.Flag) {
			key := "GPUNEX_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			if v, ok := os.LookupEnv(key); ok {
				if err := fs.Set(f.Name, v); err != nil {
					errs = append(errs, fmt.Errorf("%s=%q: %w", key, v, err))
				}
			}
		})
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return errHelp
			}
			return err
		}
		cfg.Log = logger(*verbose)
		return nil
	}
}
