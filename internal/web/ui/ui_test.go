package ui

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/benchmark"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/gpu"
	"github.com/gpunex/gpunex/internal/i18n"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/market"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/notice"
	"github.com/gpunex/gpunex/internal/payout"
	"github.com/gpunex/gpunex/internal/protocol"
	"github.com/gpunex/gpunex/internal/provider"
	"github.com/gpunex/gpunex/internal/rental"
)

func noon() time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) }

func views(t *testing.T) []*View {
	t.Helper()
	c, err := i18n.Load()
	if err != nil {
		t.Fatal(err)
	}
	var list []*View
	for _, l := range c.All {
		list = append(list, &View{
			L: l, M: &l.M, All: c.All, Path: "/x", Title: "X", Now: noon(), Asset: func(s string) string { return "/static/" + s },
			User: &User{Name: "Maria Silva", Email: "maria@example.com", Provider: true, Operator: true},
		})
	}
	return list
}

// pages renders every page with something of everything on it, once filled and once empty.
func pages(v *View) map[string]templ.Component {
	now := noon()
	wrong := &fault.Fault{Kind: fault.Invalid, Code: "form", Fields: map[string]*fault.Fault{}}
	for _, f := range []string{"email", "entries.0.quantity", "rate-l4", "gpus", "image", "question", "destination", "amount"} {
		wrong.Fields[f] = fault.New(fault.Invalid, "required", "This field is required.")
	}
	v.Fault = wrong
	models := []Model{{"h100-sxm", "H100 SXM", 80}, {"l4", "L4", 24}}
	countries := []Choice{{"DE", "Germany"}, {"PT", "Portugal"}}
	offer := market.Offer{HostID: "hst_1", HostName: "rack-1", Model: "l4", ModelName: "L4", VRAMGiB: 24, Free: 2, Total: 4, Micro: 310_000, Score: 187, City: "Lisboa", Country: "PT", Tier: "community", Simulated: true, Runtime: "docker", Isolation: "gvisor", RAMMiB: 65536, DiskMiB: 1 << 20, CPUs: 16, Driver: "570.1", CUDA: "12.8"}
	entry := provider.Entry{Model: "l4", Quantity: "2", RAMGB: "64", Availability: "schedule", Schedule: []provider.Window{{Day: 0, From: "08:00", To: "24:00"}}, City: "Lisboa", Country: "PT"}
	form := provider.Form{FullName: "Maria Silva", Email: "maria@example.com", Entries: []provider.Entry{entry, {Model: "other", OtherModel: "B200", Quantity: "1"}}, Commitment: "6"}
	app := func(s provider.State) provider.Application {
		return provider.Application{ID: "app_1", State: s, Form: form, DueAt: &now, Events: []provider.Event{{At: now, Person: "Maria", To: provider.Submitted}, {At: now, Person: "Op", To: s, Reason: "Which city?"}}}
	}
	prov := provider.Provider{AccountID: "acc_1", Tier: provider.Enterprise, Status: "active", MaxHosts: 4}
	host := fleet.Host{ID: "hst_1", Name: "rack-1", Online: true, Simulated: true, LastSeen: &now, Hardware: &protocol.Hardware{}, City: "Lisboa", Country: "PT"}
	code := 1
	r := rental.Rental{ID: "rnt_01h455vb4pex5vsknk084sn02q", GPUs: 2, Micro: 310_000, Model: "l4", Image: "ubuntu:24.04", State: rental.Ended, EndReason: rental.HostOffline, Attributed: "provider", ExitCode: &code, RunningAt: &now, RequestedAt: now, Simulated: true}
	running := r
	running.State, running.EndReason, running.Attributed, running.ExitCode = rental.Running, "", "", nil
	lines := []ledger.Line{{Seq: 1, At: now, Kind: "usage", Subject: r.ID, Account: "customer:acc_1:available", Micro: -1_234_567, After: 98_765_433}, {Seq: 2, At: now, Kind: "hold", Account: "hold:rnt_1", Micro: 5, After: 5}}
	earn := rental.Earnings{Week: 12_345_678, Month: 1_234_567_890, Total: 9_876_543_210, PerHour: 620_000, ByGPU: []rental.Slice{{ID: "gpu_1", Label: "rack-1 · GPU 0", Micro: 5_000_000, MS: 3_600_000}}, ByModel: []rental.Slice{{ID: "l4", Label: "L4", Micro: 5_000_000, MS: 3_600_000}}}
	for i := range 90 {
		earn.Days = append(earn.Days, rental.Day{Date: now.AddDate(0, 0, i-89), Micro: money.Micro(i * 1_234_567)})
	}
	listings := []market.Listing{
		{GPUID: "gpu_1", UUID: "GPU-0123456789", HostName: "rack-1", Online: true, Name: "L4", VRAMMiB: 24576, Micro: 310_000, Score: 187, Listed: true, Simulated: true},
		{GPUID: "gpu_2", UUID: "GPU-0123456780", HostName: "rack-1", Name: "L4", VRAMMiB: 24576, Reasons: []market.Reason{{Code: "host_offline"}, {Code: "no_price"}, {Code: "odd", Text: "Something new."}}},
		{GPUID: "gpu_3", UUID: "GPU-0123456781", HostName: "rack-1", Name: "L4", VRAMMiB: 24576, Rental: "rnt_1", Reasons: []market.Reason{{Code: "rented"}}},
	}
	verdict := &benchmark.Verdict{Score: 187, Figures: []benchmark.Measured{{Figure: gpu.Tensor, Value: 118, Expected: 121, Ratio: 0.975}, {Figure: gpu.VRAM, Value: 20, Expected: 24, Ratio: 0.83}}, Failures: []benchmark.Failure{{Code: "below_floor", Figure: gpu.VRAM, Value: 20, Expected: 24, Floor: 0.93}}}
	run := benchmark.Run{State: "failed", Reason: "connected", RequestedAt: now, Host: &protocol.HostFigures{SeqReadMBs: 3100, LatencyMS: 12.3}}
	pay := payout.Payout{ID: "pay_1", ProviderName: "Tejo Racks", Micro: 123_456_789, Rail: "simulated", Destination: "x", State: payout.Paid, Reference: "sim-1", PeriodEnd: now, SettledAt: &now}
	planned := pay
	planned.State, planned.SettledAt = payout.Planned, nil
	quote := Quote{Quote: market.Quote{ID: "quo_1", HostID: "hst_1", Model: "l4", GPUs: 2, Micro: 310_000, HourCost: 620_000, ExpiresAt: now.Add(time.Minute)}, ModelName: "L4", Key: "quo_1", Image: "<b>", Env: "A=1"}

	return map[string]templ.Component{
		"sign-in":          SignIn(v, Credentials{Email: "a@b.example", Next: "/roles"}),
		"sign-up":          SignUp(v, Credentials{}),
		"market":           MarketPage(v, Market{Offers: []market.Offer{offer}, Models: models, Countries: countries}),
		"market-empty":     MarketPage(v, Market{Models: models}),
		"rent":             RentPage(v, Rent{Offer: offer, GPUs: "1"}),
		"quote":            QuotePage(v, quote),
		"instances":        InstancesPage(v, []Listed{{R: r, ModelName: "L4", Cost: 5}}),
		"instances-empty":  InstancesPage(v, nil),
		"instance":         InstancePage(v, Instance{R: r, ModelName: "L4", Cost: 12_904_311, Events: []rental.Event{{At: now, State: "ended", Detail: "host_offline"}}, Lines: lines, Logs: []rental.LogLine{{Seq: 1, At: now, Stream: "stderr", Text: "<script>alert(1)</script>"}}, Last: 1, Mine: true}),
		"instance-running": InstancePage(v, Instance{R: running, ModelName: "L4", Last: -1, Mine: true}),
		"billing":          BillingPage(v, Billing{Available: 98_765_433, Held: 620_000, Lines: lines, More: 7}),
		"billing-empty":    BillingPage(v, Billing{}),
		"roles":            RolesPage(v, nil),
		"apply":            ApplyPage(v, Apply{Form: form, Question: "Which city?", Models: models, Countries: countries}),
		"application":      ApplicationPage(v, app(provider.InformationRequested), models),
		"application-done": ApplicationPage(v, app(provider.Approved), models),
		"no-provider":      NoProvider(v),
		"overview":         OverviewPage(v, Overview{Provider: prov, Earnings: earn, Listings: listings, Hosts: []fleet.Host{host}}),
		"overview-empty":   OverviewPage(v, Overview{Provider: prov}),
		"benchmarks":       BenchmarksPage(v, Benchmarks{Provider: prov, Hosts: []BenchHost{{Host: host, Runs: []benchmark.Run{run}, GPUs: []BenchGPU{{GPU: fleet.GPU{ID: "gpu_1", UUID: "GPU-0123456789"}, Name: "L4", Verdict: verdict}, {Name: "L4"}}}}}),
		"benchmarks-empty": BenchmarksPage(v, Benchmarks{Provider: prov}),
		"pricing":          PricingPage(v, Pricing{Provider: prov, Rows: []PriceRow{{Price: market.Price{Model: "l4", Micro: 310_000, SetAt: &now, GPUs: 3}, Name: "L4", Typed: "2.19 USDC"}}}),
		"earnings":         EarningsPage(v, Earnings{Provider: prov, E: earn, Days: 30, List: earn.Days[60:]}),
		"earnings-empty":   EarningsPage(v, Earnings{Provider: prov}),
		"payouts":          PayoutsTab(v, PayoutTab{Provider: prov, Next: payout.Next{At: now, Minimum: 50_000_000, Reason: "below_minimum"}, Setting: payout.Setting{Schedule: "weekly", Rail: "simulated"}, Pending: []payout.Payout{planned}, History: []payout.Payout{pay}}),
		"install":          InstallPage(v, Install{Command: "curl -fsSL https://gpunex.example/agent | bash", Provider: prov, Secret: "gpx_secret", Tokens: []fleet.Token{{ID: "tok_1", Hint: "abcd", ExpiresAt: now.Add(time.Hour), MaxHosts: 4}, {ID: "tok_2", Hint: "efgh", ExpiresAt: now, RevokedAt: &now}}}),
		"queue":            QueuePage(v, []Waiting{{App: app(provider.Submitted), Findings: []provider.Finding{{Code: "model_unknown"}}}}),
		"queue-empty":      QueuePage(v, nil),
		"review":           ReviewPage(v, Review{App: app(provider.Submitted), Findings: []provider.Finding{{Code: "duplicate_applicant", Text: "Twice."}}, Models: models, Tier: "community", MaxHosts: "2", Chosen: []string{"l4"}}),
		"hosts":            HostsPage(v, []OwnedHost{{Host: host, Owner: "Tejo Racks"}}),
		"operator-payouts": PayoutsPage(v, Payouts{Preview: []payout.Payout{planned}, Summary: payout.Summary{Skipped: map[string]string{"acc_2": "below_minimum"}}, List: []payout.Payout{pay}}),
		"audit":            AuditPage(v, ledger.Audit{Transactions: 3, Entries: 6, Accounts: 4}),
		"audit-bad":        AuditPage(v, ledger.Audit{Sum: 1, Unbalanced: []string{"txn_1"}}),
		"test-money":       TestMoneyPage(v, TestMoney{Key: "k", Amount: "100", Accounts: []account.Account{{ID: "acc_1", Name: "Maria"}}}),
		"outbox":           OutboxPage(v, []notice.Mail{{ID: "eml_1", Subject: "Approved", To: "a@b.example", Body: "Run this", CreatedAt: now}}),
		"error":            ErrorPage(v, 404, v.M.Errors.NotFoundTitle, v.M.Errors.Internal),
	}
}

// TestPages renders every page in every language and reads it back as a tree.
func TestPages(t *testing.T) {
	for _, v := range views(t) {
		for name, c := range pages(v) {
			t.Run(v.L.Path+"/"+name, func(t *testing.T) {
				var b bytes.Buffer
				if err := c.Render(t.Context(), &b); err != nil {
					t.Fatal(err)
				}
				checkTree(t, &b, v.L.Tag)
			})
		}
	}
}

// checkTree finds what a strict policy forbids and what assistive technology stumbles over.
func checkTree(t *testing.T, b *bytes.Buffer, lang string) {
	t.Helper()
	doc, err := html.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	ids, fors, titles := map[string]int{}, []string{}, 0
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		at := map[string]string{}
		for _, a := range n.Attr {
			at[a.Key] = a.Val
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s %s=%q>: inline style or script", n.Data, a.Key, a.Val)
			}
		}
		if id, ok := at["id"]; ok {
			ids[id]++
		}
		switch n.Data {
		case "html":
			if at["lang"] != lang {
				t.Errorf("lang = %q", at["lang"])
			}
		case "h1":
			titles++
		case "script":
			if at["src"] == "" {
				t.Error("inline script")
			}
		case "style":
			t.Error("inline style sheet")
		case "label":
			if at["for"] != "" {
				fors = append(fors, at["for"])
			}
		case "form":
			if at["method"] == "post" && !strings.HasPrefix(at["action"], "/") {
				t.Errorf("form posts to %q", at["action"])
			}
		case "th":
			if at["scope"] == "" {
				t.Error("th without scope")
			}
		}
		for _, key := range []string{"aria-describedby", "aria-labelledby"} {
			fors = append(fors, strings.Fields(at[key])...)
		}
	}
	if titles != 1 {
		t.Errorf("%d h1", titles)
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("id %q occurs %d times", id, n)
		}
	}
	for _, id := range fors {
		if ids[id] == 0 {
			t.Errorf("nothing has the id %q", id)
		}
	}
}
