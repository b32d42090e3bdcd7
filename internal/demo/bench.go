package demo

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpunex/gpunex/internal/market"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/provider"
	"github.com/gpunex/gpunex/internal/rental"
)

// Figures that Bench prints, as `name value unit`. Each part measures some of them.
var benchParts = []struct {
	names []string
	run   func(*story, context.Context) error
}{
	{[]string{"dev_ready_s"}, (*story).benchReady},
	{[]string{"submit_to_running_p50_ms", "submit_to_running_p99_ms", "docker_run_p50_ms", "docker_run_p99_ms", "submit_to_running_ratio"}, (*story).benchRent},
	{[]string{"page_p50_ms", "page_p99_ms"}, (*story).benchPage},
	{[]string{"agent_rss_mib"}, (*story).benchMemory},
	{[]string{"rentals_claimed_per_s"}, (*story).benchClaims},
}

// Bench measures the whole path on this machine. only names one figure, or is empty for all.
func Bench(ctx context.Context, cfg Config, only string) error {
	dir, err := os.MkdirTemp("", "gpunex-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the database's own user must be able to pass through
		return err
	}
	s := &story{Config: cfg, dir: dir, began: time.Now()}
	defer s.end()
	for _, step := range []func(context.Context) (string, error){
		s.platform, s.people, s.apply, s.approve, s.install, s.benchmark, s.price, s.funds,
	} {
		if _, err := step(ctx); err != nil {
			return err
		}
	}
	found := false
	for _, part := range benchParts {
		if only == "" || slices.Contains(part.names, only) {
			found = true
			if err := part.run(s, ctx); err != nil {
				return fmt.Errorf("%s: %w", part.names[0], err)
			}
		}
	}
	if !found {
		return fmt.Errorf("no figure %q", only)
	}
	return nil
}

func (s *story) figure(name string, value float64, unit string) {
	fmt.Fprintf(s.Out, "%s %.3f %s\n", name, value, unit)
}

// quantile of sorted or unsorted durations, in milliseconds.
func quantile(d []time.Duration, q float64) float64 {
	d = slices.Clone(d)
	slices.Sort(d)
	return float64(d[min(int(q*float64(len(d))), len(d)-1)].Microseconds()) / 1000
}

// benchReady is from the start of gpunexd to its first page.
func (s *story) benchReady(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	const address = "127.0.0.1:18973"
	at := time.Now()
	p, err := spawn("gpunexd dev", nil, s.Log, self, "dev", "--listen", address, "--bus-listen", "127.0.0.1:0", "--data", filepath.Join(s.dir, "dev"), "--empty")
	if err != nil {
		return err
	}
	defer p.stop()
	err = await(ctx, "first page", time.Minute, func() (bool, error) {
		return get(ctx, "http://"+address+"/en/marketplace") == nil, nil
	})
	if err != nil {
		return err
	}
	s.figure("dev_ready_s", time.Since(at).Seconds(), "s")
	return nil
}

func get(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, a.Status)
	}
	return nil
}

// benchRent compares a rental from the click to a running container with `docker run` of the same image, in turn.
func (s *story) benchRent(ctx context.Context) error {
	const rounds = 20
	var ours, floor []time.Duration
	for i := range rounds {
		at := time.Now()
		out, err := exec.CommandContext(ctx, "docker", "run", "-d", s.Image).Output() //nolint:gosec // the image that the benchmark was given
		if err != nil {
			return fmt.Errorf("docker run: %w", err)
		}
		floor = append(floor, time.Since(at))
		if err := exec.CommandContext(ctx, "docker", "rm", "-f", strings.TrimSpace(string(out))).Run(); err != nil { //nolint:gosec // an identifier that docker just printed
			return fmt.Errorf("docker rm: %w", err)
		}
		q, err := s.p.Market.Quote(ctx, time.Now(), s.customer, s.offer.HostID, s.offer.Model, 1)
		if err != nil {
			return err
		}
		at = time.Now()
		if s.let, err = s.p.Rentals.Start(ctx, at, s.customer, rental.Order{QuoteID: q.ID, IdemKey: "bench" + strconv.Itoa(i), Image: s.Image}); err != nil {
			return err
		}
		if err := s.reach(ctx, rental.Running); err != nil {
			return err
		}
		ours = append(ours, time.Since(at))
		if _, err := s.p.Rentals.Stop(ctx, time.Now(), s.customer, s.let.ID); err != nil {
			return err
		}
		if err := s.reach(ctx, rental.Ended); err != nil {
			return err
		}
	}
	s.figure("submit_to_running_p50_ms", quantile(ours, .5), "ms")
	s.figure("submit_to_running_p99_ms", quantile(ours, .99), "ms")
	s.figure("docker_run_p50_ms", quantile(floor, .5), "ms")
	s.figure("docker_run_p99_ms", quantile(floor, .99), "ms")
	s.figure("submit_to_running_ratio", quantile(ours, .5)/quantile(floor, .5), "x")
	return nil
}

func (s *story) benchPage(ctx context.Context) error {
	var took []time.Duration
	for range 500 {
		at := time.Now()
		if err := get(ctx, s.p.URL+"/en/marketplace"); err != nil {
			return err
		}
		took = append(took, time.Since(at))
	}
	s.figure("page_p50_ms", quantile(took, .5), "ms")
	s.figure("page_p99_ms", quantile(took, .99), "ms")
	return nil
}

func (s *story) benchMemory(context.Context) error {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.host.agent.cmd.Process.Pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			kib, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				return err
			}
			s.figure("agent_rss_mib", kib/1024, "MiB")
			return nil
		}
	}
	return fmt.Errorf("no VmRSS in the agent's status")
}

// benchClaims lets the GPUs of a 64-GPU host one by one from 16 customers at once. The containers are simulated: what
// is measured is the claim, the hold and the rental in the database.
func (s *story) benchClaims(ctx context.Context) error {
	owner, err := signUp(ctx, s.p.Accounts, person("many@demo.example"))
	if err != nil {
		return err
	}
	if _, err := s.p.Providers.Open(ctx, time.Now(), owner); err != nil {
		return err
	}
	a, err := s.p.Providers.Submit(ctx, time.Now(), owner, form(person("many@demo.example"), "l4", "64"))
	if err != nil {
		return err
	}
	if err := s.p.Providers.Approve(ctx, time.Now(), s.operator, a.ID, provider.Approval{Tier: provider.Community, Models: []string{"l4"}, MaxHosts: 1}); err != nil {
		return err
	}
	secret, err := s.p.Fleet.Issue(ctx, s.p.DB, time.Now(), owner.Account.ID, 1)
	if err != nil {
		return err
	}
	many := &Host{Agent: s.Agent, Dir: filepath.Join(s.dir, "many"), Name: "many", Profile: "l4x64", Platform: s.p.URL, Token: secret, Log: s.Log}
	if err := many.Start(); err != nil {
		return err
	}
	defer many.Leave()
	if _, err := s.p.Market.SetPrice(ctx, time.Now(), owner, "l4", "0.50"); err != nil {
		return err
	}
	var offer market.Offer
	err = await(ctx, "64 GPUs listed", 2*time.Minute, func() (bool, error) {
		offers, err := s.p.Market.Search(ctx, time.Now(), market.Search{Model: "l4"})
		if err != nil || len(offers) == 0 || offers[0].Free < 64 {
			return false, err
		}
		offer = offers[0]
		return true, nil
	})
	if err != nil {
		return err
	}
	quotes := make([]string, 64)
	if err := s.p.Ledger.GiveTestFunds(ctx, time.Now(), "claims", s.customer.Account.ID, s.operator.Person.ID, 1000*money.USDC); err != nil {
		return err
	}
	for i := range quotes {
		q, err := s.p.Market.Quote(ctx, time.Now(), s.customer, offer.HostID, offer.Model, 1)
		if err != nil {
			return err
		}
		quotes[i] = q.ID
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	at := time.Now()
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < len(quotes); i += 16 {
				if _, err := s.p.Rentals.Start(ctx, time.Now(), s.customer, rental.Order{QuoteID: quotes[i], IdemKey: "claim" + strconv.Itoa(i), Image: s.Image}); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if failed != nil {
		return failed
	}
	s.figure("rentals_claimed_per_s", float64(len(quotes))/time.Since(at).Seconds(), "1/s")
	return nil
}
