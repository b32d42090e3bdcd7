package market

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/db/dbtest"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/protocol"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

type world struct {
	*Service
	t testing.TB
	d *db.DB
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, d: dbtest.New(t)}
	w.Service = New(w.d, Config{QuoteTTL: 2 * time.Minute, FeeBPS: 1000})
	w.exec(`INSERT INTO person VALUES ('prs_1', 'a@example.org', 'A', 'x', 'en', $1)`, noon)
	w.provider("acc_1", "community", "PT")
	w.exec(`INSERT INTO account VALUES ('acc_c', 'C', false, $1)`, noon)
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.d.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) provider(id, tier, country string) {
	w.exec(`INSERT INTO account VALUES ($1, $1, false, $2)`, id, noon)
	w.exec(`INSERT INTO provider VALUES ($1, $2, 'active', '{h100-sxm,l4}', 10, 0, 'X', $3, 'Europe', $4)`, id, tier, country, noon)
	w.exec(`INSERT INTO enrolment_token VALUES ('tok_' || $1::text, $1, $1::text::bytea, 'abcd', $2, $2, NULL, 10, 1)`, id, noon)
}

// host makes a host with GPUs of a model whose benchmarks passed with the scores.
func (w *world) host(id, provider, model string, scores ...int) {
	w.t.Helper()
	hw := protocol.Hardware{CPUs: 64, RAMMiB: 512_000, DiskMiB: 2_000_000, Driver: "550.1", CUDA: "12.4", Runtime: "docker", Isolation: []string{"runc", "gvisor"}}
	w.exec(`INSERT INTO host (id, provider_id, token_id, name, public_key, agent_version, protocol, hardware, city, country, region, online, last_seen, enrolled_at)
		SELECT $1, account_id, 'tok_' || account_id, 'host ' || $1, $1, '1', 1, $3, city, country, region, true, $4, $4 FROM provider WHERE account_id = $2`, id, provider, hw, noon)
	w.exec(`INSERT INTO benchmark_run (id, host_id, reason, state, seed, size, rounds, requested_at) VALUES ('bmk_' || $1::text, $1, 'connected', 'passed', 1, 1, 1, $2)`, id, noon)
	for i, score := range scores {
		gpu := fmt.Sprintf("gpu_%s_%d", id, i)
		w.exec(`INSERT INTO gpu (id, host_id, uuid, position, model, vram_mib, detail, present, first_seen) VALUES ($1, $2, $1, $3, $4, 81559, '{}', true, $5)`, gpu, id, i, model, noon)
		w.exec(`INSERT INTO benchmark_result VALUES ('bmk_' || $1::text, $2, '{}', $3, $4, true, true, '[]', $5)`, id, gpu, score, float64(score)/1000, noon)
	}
}

func (w *world) price(provider, model, typed string) {
	w.t.Helper()
	if _, err := w.SetPrice(context.Background(), noon, who(provider), model, typed); err != nil {
		w.t.Fatal(err)
	}
}

func who(provider string) account.Identity {
	return account.Identity{Person: account.Person{ID: "prs_1"}, Account: account.Account{ID: provider}, Role: "owner"}
}

func TestEveryReason(t *testing.T) {
	fine := facts{Online: true, Present: true, Micro: 1, Measured: true, Passed: true, Approved: true}
	if got := Reasons(fine); got != nil {
		t.Fatalf("a fine GPU isn't listed: %v", got)
	}
	for code, change := range map[string]func(*facts){
		"host_offline":       func(f *facts) { f.Online = false },
		"gpu_missing":        func(f *facts) { f.Present = false },
		"gpu_fault":          func(f *facts) { f.Fault = "Xid 79" },
		"quarantined":        func(f *facts) { f.Quarantine = "uuid_seen_twice" },
		"rented":             func(f *facts) { f.Rental = "rnt_1" },
		"not_benchmarked":    func(f *facts) { f.Measured, f.Passed = false, false },
		"benchmark_failed":   func(f *facts) { f.Passed = false },
		"no_price":           func(f *facts) { f.Micro = 0 },
		"provider_suspended": func(f *facts) { f.Suspended = true },
		"model_not_approved": func(f *facts) { f.Approved = false },
	} {
		f := fine
		change(&f)
		if got := Reasons(f); len(got) != 1 || got[0].Code != code || got[0].Text == "" {
			t.Errorf("%s: got %v", code, got)
		}
	}
	if got := Reasons(facts{}); len(got) != 5 {
		t.Errorf("all at once: %v", got)
	}
}

// What the database says reaches the reasons, one fact at a time.
func TestListings(t *testing.T) {
	w := newWorld(t)
	w.host("hst_1", "acc_1", "h100-sxm", 1000, 900)
	list, err := w.Listings(t.Context(), noon, "acc_1")
	if err != nil || len(list) != 2 || list[0].Listed || len(list[0].Reasons) != 1 || list[0].Reasons[0].Code != "no_price" {
		t.Fatalf("got %+v, %v", list, err)
	}
	w.price("acc_1", "h100-sxm", "2.19")
	if list, err = w.Listings(t.Context(), noon, "acc_1"); err != nil || !list[0].Listed || list[0].Score != 1000 || list[1].Score != 900 || list[0].Micro != 2_190_000 {
		t.Fatalf("got %+v, %v", list, err)
	}
	w.exec(`INSERT INTO quote VALUES ('quo_1', 'acc_c', 'hst_1', 'h100-sxm', 1, 1, 0, $1, $1)`, noon)
	w.exec(`INSERT INTO rental (id, customer_id, person_id, provider_id, host_id, quote_id, idem_key, request_hash, model, gpus, micro, fee_bps, image, command, env, simulated, state, requested_at)
		VALUES ('rnt_1', 'acc_c', 'prs_1', 'acc_1', 'hst_1', 'quo_1', 'k', '', 'h100-sxm', 1, 1, 0, 'i', '{}', '{}', false, 'starting', $1)`, noon)
	for _, x := range []struct{ code, change, undo string }{
		{"host_offline", `UPDATE host SET online = false`, `UPDATE host SET online = true`},
		{"gpu_missing", `UPDATE gpu SET present = false`, `UPDATE gpu SET present = true`},
		{"gpu_fault", `UPDATE gpu SET fault = 'x'`, `UPDATE gpu SET fault = ''`},
		{"quarantined", `UPDATE gpu SET quarantine = 'x'`, `UPDATE gpu SET quarantine = ''`},
		{"rented", `INSERT INTO claim SELECT 'rnt_1', id, tstzrange('2026-12-01', NULL) FROM gpu`, `UPDATE claim SET during = tstzrange('2026-12-01', '2026-12-02')`},
		{"benchmark_failed", `INSERT INTO benchmark_run SELECT 'bmk_2', host_id, reason, 'failed', 1, 1, 1, requested_at FROM benchmark_run;
			INSERT INTO benchmark_result SELECT 'bmk_2', gpu_id, figures, 1, 0, false, true, failures, at + interval '1 hour' FROM benchmark_result`,
			`DELETE FROM benchmark_result WHERE run_id = 'bmk_2'`},
		{"provider_suspended", `UPDATE provider SET status = 'suspended'`, `UPDATE provider SET status = 'active'`},
		{"model_not_approved", `UPDATE provider SET models = '{l4}'`, `UPDATE provider SET models = '{h100-sxm}'`},
		{"not_benchmarked", `DELETE FROM benchmark_result`, ``},
	} {
		w.exec(x.change)
		list, err := w.Listings(t.Context(), noon, "acc_1")
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			if l.Listed || len(l.Reasons) != 1 || l.Reasons[0].Code != x.code {
				t.Errorf("%s: got %+v", x.code, l)
			}
		}
		if _, err := w.Offer(t.Context(), noon, "hst_1", "h100-sxm"); !fault.Is(err, "offer_gone") {
			t.Errorf("%s: offered all the same: %v", x.code, err)
		}
		if x.undo != "" {
			w.exec(x.undo)
		}
	}
	if list, err = w.Listings(t.Context(), noon, "acc_2"); err != nil || len(list) != 0 {
		t.Errorf("somebody else's: %v, %v", list, err)
	}
}

func TestSearch(t *testing.T) {
	w := newWorld(t)
	w.provider("acc_2", "enterprise", "DE")
	w.host("hst_a", "acc_1", "h100-sxm", 1000, 950, 900)
	w.host("hst_b", "acc_2", "h100-sxm", 990)
	w.host("hst_c", "acc_1", "l4", 60, 60)
	w.host("hst_d", "acc_2", "l4", 70) // no price
	w.price("acc_1", "h100-sxm", "2.5")
	w.price("acc_2", "h100-sxm", "2,1")
	w.price("acc_1", "l4", "0.3")
	w.exec(`UPDATE gpu SET fault = 'x' WHERE id = 'gpu_hst_a_2'`)
	for name, x := range map[string]struct {
		q    Search
		want string
	}{
		"all":       {Search{}, "hst_c hst_b hst_a"},
		"by score":  {Search{Order: "score"}, "hst_b hst_a hst_c"},
		"model":     {Search{Model: "l4"}, "hst_c"},
		"memory":    {Search{MinVRAMGiB: 80}, "hst_b hst_a"},
		"price":     {Search{MaxPrice: 2_100_000}, "hst_c hst_b"},
		"score":     {Search{MinScore: 960}, "hst_b"},
		"country":   {Search{Country: "DE"}, "hst_b"},
		"tier":      {Search{Tier: "community"}, "hst_c hst_a"},
		"count":     {Search{Count: 2}, "hst_c hst_a"},
		"too many":  {Search{Count: 3}, ""},
		"no model":  {Search{Model: "x"}, ""},
		"no memory": {Search{MinVRAMGiB: 81}, ""},
	} {
		list, err := w.Search(t.Context(), noon, x.q)
		var got []string
		for _, o := range list {
			got = append(got, o.HostID)
		}
		if s := strings.Join(got, " "); err != nil || s != x.want {
			t.Errorf("%s: got %q, %v; want %q", name, s, err, x.want)
		}
	}
	o, err := w.Offer(t.Context(), noon, "hst_a", "h100-sxm")
	if err != nil || o.Free != 2 || o.Total != 3 || o.Score != 950 || o.Health != 0.95 || o.VRAMGiB != 80 || o.Isolation != "gvisor" || o.CPUs != 64 ||
		o.Driver != "550.1" || o.ModelName == "" || o.Micro != 2_500_000 || o.Runtime != "docker" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestSetPrice(t *testing.T) {
	w := newWorld(t)
	w.host("hst_1", "acc_1", "NVIDIA GeForce GT 710", 1)
	for typed, code := range map[string]string{
		"": "price_required", " ": "price_required", "2.19 USDC": "price_not_a_number", "-1": "price_not_a_number", "1e3": "price_not_a_number",
		"1,234.5": "price_not_a_number", "0.0000001": "price_decimals", "0": "price_range", "1000000.000001": "price_range",
		"99999999999999999999": "price_range",
	} {
		if _, err := w.SetPrice(t.Context(), noon, who("acc_1"), "h100-sxm", typed); !fault.Is(err, code) {
			t.Errorf("%q: got %v, want %s", typed, err, code)
		}
	}
	for _, x := range []struct{ account, model, code string }{
		{"acc_c", "h100-sxm", "provider_required"}, {"acc_1", "nonsense", "model_unknown"},
	} {
		if _, err := w.SetPrice(t.Context(), noon, who(x.account), x.model, "1"); !fault.Is(err, x.code) {
			t.Errorf("%v: got %v", x, err)
		}
	}
	for _, typed := range []string{"0.000001", "1000000", "2,19"} {
		w.price("acc_1", "h100-sxm", typed)
	}
	w.price("acc_1", "NVIDIA GeForce GT 710", "0.1")
	changes, err := db.Values[money.Micro](t.Context(), w.d, `SELECT micro FROM price_change ORDER BY id`)
	if err != nil || !slices.Equal(changes, []money.Micro{1, 1_000_000_000_000, 2_190_000, 100_000}) {
		t.Errorf("history: %v, %v", changes, err)
	}
	prices, err := w.Prices(t.Context(), "acc_1")
	if err != nil || len(prices) != 3 || prices[0].Model != "h100-sxm" || prices[0].Micro != 2_190_000 || prices[0].GPUs != 0 || prices[0].SetAt == nil ||
		prices[1].Model != "l4" || prices[1].Micro != 0 || prices[1].SetAt != nil || prices[2].GPUs != 1 {
		t.Errorf("prices: %+v, %v", prices, err)
	}
}

func TestQuotes(t *testing.T) {
	w := newWorld(t)
	w.host("hst_1", "acc_1", "h100-sxm", 1000, 1000)
	w.price("acc_1", "h100-sxm", "2.19")
	q, err := w.Quote(t.Context(), noon, who("acc_c"), "hst_1", "h100-sxm", 2)
	if err != nil || q.Micro != 2_190_000 || q.HourCost != 4_380_000 || q.FeeBPS != 1000 || !q.ExpiresAt.Equal(noon.Add(2*time.Minute)) {
		t.Fatalf("got %+v, %v", q, err)
	}
	w.price("acc_1", "h100-sxm", "9")
	got, err := w.QuoteByID(t.Context(), who("acc_c"), q.ID)
	if err != nil || got.Micro != q.Micro || got.HourCost != q.HourCost || !got.ExpiresAt.Equal(q.ExpiresAt) {
		t.Errorf("a quote keeps its price: %+v, %v", got, err)
	}
	if _, err := w.QuoteByID(t.Context(), who("acc_1"), q.ID); !fault.Is(err, "quote_not_found") {
		t.Errorf("somebody else's: %v", err)
	}
	for gpus, code := range map[int]string{0: "gpus_invalid", -1: "gpus_invalid", 3: "not_enough_gpus"} {
		if _, err := w.Quote(t.Context(), noon, who("acc_c"), "hst_1", "h100-sxm", gpus); !fault.Is(err, code) {
			t.Errorf("%d GPUs: got %v", gpus, err)
		}
	}
	for _, x := range [][2]string{{"hst_2", "h100-sxm"}, {"hst_1", "l4"}, {"", ""}} {
		if _, err := w.Quote(t.Context(), noon, who("acc_c"), x[0], x[1], 1); !fault.Is(err, "offer_gone") {
			t.Errorf("%v: got %v", x, err)
		}
	}
}

// PostgreSQL understands every query on the schema as it is.
func TestQueriesPrepare(t *testing.T) {
	d := dbtest.New(t)
	for i, sql := range []string{sqlFacts, sqlPrices, sqlIsProvider, sqlHasModel, sqlSavePrice, sqlSaveChange, sqlInsertQuote, sqlQuote, sqlLockQuote} {
		if _, err := d.Exec(t.Context(), fmt.Sprintf("PREPARE q%d AS %s", i, sql)); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
