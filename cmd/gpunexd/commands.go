package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/controlplane"
	"github.com/gpunex/gpunex/internal/payout"
)

func serve(ctx context.Context, args []string) error {
	cfg := controlplane.Default()
	_, parse := settings("serve", &cfg)
	if err := parse(args); err != nil {
		return err
	}
	p, err := controlplane.New(ctx, cfg)
	if err != nil {
		return err
	}
	cfg.Log.Info("gpunexd is ready", "url", p.URL)
	return p.Run(ctx)
}

// admin runs f with the services of a platform that may be running.
func admin(ctx context.Context, name string, args []string, more func(*flag.FlagSet), f func(context.Context, *controlplane.Services, []string) error) error {
	cfg := controlplane.Default()
	fs, parse := settings(name, &cfg)
	if more != nil {
		more(fs)
	}
	if err := parse(args); err != nil {
		return err
	}
	s, done, err := controlplane.Admin(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, s, fs.Args()), done())
}

func operator(ctx context.Context, args []string) error {
	return admin(ctx, "operator", args, nil, func(ctx context.Context, s *controlplane.Services, args []string) error {
		if len(args) != 1 {
			return errors.New("name one email address, after the flags: gpunexd operator [flags] EMAIL")
		}
		password := os.Getenv("GPUNEX_PASSWORD")
		if password == "" {
			fmt.Fprint(os.Stderr, "Password for "+args[0]+" (shown as you type; or set GPUNEX_PASSWORD): ")
			in := bufio.NewScanner(os.Stdin)
			in.Scan()
			password = in.Text()
		}
		who, err := s.Accounts.MakeOperator(ctx, time.Now(), account.SignUp{Email: args[0], Name: args[0], Password: password, Locale: "en"})
		if err != nil {
			return err
		}
		fmt.Printf("%s is an operator (account %s)\n", who.Person.Email, who.Account.ID)
		return nil
	})
}

func payouts(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "run" && args[0] != "plan" {
		return errors.New("gpunexd payouts run --now TIME pays; gpunexd payouts plan --now TIME only shows")
	}
	now := time.Now()
	at := func(fs *flag.FlagSet) {
		fs.Func("now", "`time` at which the run happens, as in 2026-12-07T06:00:00Z (default: this moment)", func(v string) (err error) {
			now, err = time.Parse(time.RFC3339, v)
			return err
		})
	}
	return admin(ctx, "payouts "+args[0], args[1:], at, func(ctx context.Context, s *controlplane.Services, _ []string) error {
		var sum payout.Summary
		var err error
		if args[0] == "plan" {
			var list []payout.Payout
			if list, sum, err = s.Payouts.Preview(ctx, now); err == nil {
				for _, p := range list {
					fmt.Printf("would pay %s USDC to %s (%s) by %s rail to %s\n", p.Micro, p.ProviderName, p.ProviderID, p.Rail, p.Destination)
				}
			}
		} else {
			sum, err = s.Pay(ctx, now)
		}
		if err != nil {
			return err
		}
		fmt.Printf("period until %s: %d planned, %d paid, %d returned, %d open, %s USDC\n",
			sum.PeriodEnd.UTC().Format(time.RFC3339), sum.Planned, sum.Paid, sum.Returned, sum.Open, sum.Micro)
		for _, a := range slices.Sorted(maps.Keys(sum.Skipped)) {
			fmt.Printf("not paid: %s: %s\n", a, sum.Skipped[a])
		}
		return nil
	})
}

func audit(ctx context.Context, args []string) error {
	return admin(ctx, "audit", args, nil, func(ctx context.Context, s *controlplane.Services, _ []string) error {
		a, err := s.Ledger.Audit(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("%d transactions, %d entries, %d accounts; sum of all entries %s USDC\n", a.Transactions, a.Entries, a.Accounts, a.Sum)
		for what, list := range map[string][]string{"not balanced": a.Unbalanced, "balance isn't the sum of its entries": a.Drifted, "below its floor": a.BelowFloor} {
			for _, x := range list {
				fmt.Println(what+":", x)
			}
		}
		if !a.OK() {
			return errors.New("the books are NOT in order")
		}
		fmt.Println("the books balance")
		return nil
	})
}
