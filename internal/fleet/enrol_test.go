package fleet_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/protocol"
)

func TestTokenIsShownOnceAndStoredHashed(t *testing.T) {
	w := newWorld(t)
	secret := w.token("acc_p", 2)
	ts, err := w.Tokens(w.ctx, "acc_p")
	if err != nil || len(ts) != 1 {
		t.Fatalf("%v %v", ts, err)
	}
	if !strings.HasPrefix(secret, "gpx_") || len(secret) != 68 || ts[0].Hint != secret[64:] || ts[0].MaxHosts != 2 || ts[0].Used != 0 {
		t.Errorf("%q %+v", secret, ts[0])
	}
	if !ts[0].ExpiresAt.Equal(monday.Add(config.TokenTTL)) {
		t.Errorf("expires %v", ts[0].ExpiresAt)
	}
	var leaks int
	if err := w.db.QueryRow(w.ctx, `SELECT count(*) FROM enrolment_token t WHERE t::text LIKE '%' || $1 || '%'`, secret[4:]).Scan(&leaks); err != nil || leaks != 0 {
		t.Errorf("the secret is stored (%v)", err)
	}
	if _, err := w.Issue(w.ctx, w.db, monday, "acc_p", 0); !fault.Is(err, "token_hosts_invalid") {
		t.Errorf("a token for no hosts: %v", err)
	}
}

func TestEnrol(t *testing.T) {
	w := newWorld(t)
	token := w.token("acc_p", 2)
	h, err := w.Enrol(w.ctx, monday, request(token, "UA", monday))
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Host(w.ctx, h.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.ProviderID != "acc_p" || got.Name != "rack-UA" || got.City != "Porto" || got.Country != "PT" || got.Region != "eu-west" ||
		got.Hardware != nil || got.Online || got.DesiredRevision != 1 || !got.EnrolledAt.Equal(monday) {
		t.Errorf("%+v", got)
	}
	for range 3 { // the reply was lost
		again, err := w.Enrol(w.ctx, monday.Add(15*24*time.Hour), request(token, "UA", monday.Add(15*24*time.Hour)))
		if err != nil || again.ID != h.ID {
			t.Fatalf("again: %v %v", again.ID, err)
		}
	}
	if ts, _ := w.Tokens(w.ctx, "acc_p"); ts[0].Used != 1 {
		t.Errorf("used %d", ts[0].Used)
	}
	if again, err := w.Enrol(w.ctx, monday, request(w.token("acc_p", 1), "UA", monday)); err != nil || again.ID != h.ID {
		t.Errorf("by another token of the same provider: %v %v", again.ID, err)
	}
	_, err = w.Enrol(w.ctx, monday, request(w.token("acc_q", 1), "UA", monday))
	wantFault(t, err, "key_taken")
	if hs, _ := w.Hosts(w.ctx, "acc_p"); len(hs) != 1 {
		t.Errorf("%d hosts", len(hs))
	}
	if hs, _ := w.Hosts(w.ctx, "acc_q"); len(hs) != 0 {
		t.Errorf("%d hosts of the other provider", len(hs))
	}
	if hs, _ := w.Hosts(w.ctx, ""); len(hs) != 1 {
		t.Errorf("%d hosts in all", len(hs))
	}
}

func TestEnrolRefuses(t *testing.T) {
	w := newWorld(t)
	good := w.token("acc_p", 1)
	for code, change := range map[string]func(r *protocol.EnrolRequest, now *time.Time){
		"token_unknown": func(r *protocol.EnrolRequest, _ *time.Time) { r.Token = "gpx_nonsense" },
		"token_expired": func(r *protocol.EnrolRequest, now *time.Time) {
			*now = monday.Add(config.TokenTTL)
			r.HostTime = *now
		},
		"clock_off":    func(r *protocol.EnrolRequest, _ *time.Time) { r.HostTime = monday.Add(121 * time.Second) },
		"protocol_old": func(r *protocol.EnrolRequest, _ *time.Time) { r.Protocol = 0 },
		"key_invalid":  func(r *protocol.EnrolRequest, _ *time.Time) { r.PublicKey = "a\x00b" },
	} {
		r, now := request(good, "UA", monday), monday
		change(&r, &now)
		_, err := w.Enrol(w.ctx, now, r)
		wantFault(t, err, code)
	}
	r := request(good, "UA", monday.Add(-119*time.Second))
	if _, err := w.Enrol(w.ctx, monday, r); err != nil {
		t.Errorf("a clock that is nearly right: %v", err)
	}
	_, err := w.Enrol(w.ctx, monday, request(good, "UB", monday))
	wantFault(t, err, "token_used")

	revoked := w.token("acc_p", 1)
	ts, _ := w.Tokens(w.ctx, "acc_p")
	wantFault(t, w.Revoke(w.ctx, monday, "acc_q", ts[0].ID), "token_not_found")
	for range 2 {
		if err := w.Revoke(w.ctx, monday, "acc_p", ts[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	_, err = w.Enrol(w.ctx, monday, request(revoked, "UC", monday))
	wantFault(t, err, "token_revoked")
	_, err = w.Host(w.ctx, "hst_none")
	wantFault(t, err, "host_not_found")
}

func TestManyEnrolAtOnce(t *testing.T) {
	w := newWorld(t)
	token := w.token("acc_p", 3)
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = w.Enrol(w.ctx, monday, request(token, "U"+strconv.Itoa(i), monday))
		})
	}
	wg.Wait()
	ok := 0
	for _, err := range errs {
		if err == nil {
			ok++
		} else {
			wantFault(t, err, "token_used")
		}
	}
	hs, err := w.Hosts(w.ctx, "acc_p")
	if ok != 3 || len(hs) != 3 || err != nil {
		t.Errorf("%d enrolled, %d hosts (%v)", ok, len(hs), err)
	}
}

func TestOneKeyAtOnceByTwoTokens(t *testing.T) {
	w := newWorld(t)
	tokens := []string{w.token("acc_p", 5), w.token("acc_p", 5)}
	var wg sync.WaitGroup
	hosts := make([]fleet.Host, 16)
	for i := range hosts {
		wg.Go(func() {
			var err error
			if hosts[i], err = w.Enrol(w.ctx, monday, request(tokens[i%2], "UA", monday)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, h := range hosts {
		if h.ID != hosts[0].ID {
			t.Fatal("one key is two hosts")
		}
	}
	used := 0
	ts, _ := w.Tokens(w.ctx, "acc_p")
	for _, x := range ts {
		used += x.Used
	}
	if used != 1 {
		t.Errorf("used %d times", used)
	}
}

func TestApprovedNumberOfHostsHoldsOverTokens(t *testing.T) {
	w := newWorld(t)
	must(t, w.db, `UPDATE provider SET max_hosts = 2 WHERE account_id = 'acc_p'`)
	tokens := []string{w.token("acc_p", 2), w.token("acc_p", 2)}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() { _, errs[i] = w.Enrol(w.ctx, monday, request(tokens[i%2], "U"+strconv.Itoa(i), monday)) })
	}
	wg.Wait()
	full := 0
	for _, err := range errs {
		if err != nil && (fault.Is(err, "hosts_full") || fault.Is(err, "token_used")) {
			full++
		}
	}
	if hs, _ := w.Hosts(w.ctx, "acc_p"); len(hs) != 2 || full != 2 {
		t.Errorf("%d hosts, %d refused: %v", len(hs), full, errs)
	}
}
