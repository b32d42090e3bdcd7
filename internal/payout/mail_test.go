package payout_test

import (
	"strings"
	"testing"

	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/notice"
	"github.com/gpunex/gpunex/internal/payout"
	"github.com/gpunex/gpunex/internal/payout/rail/simulated"
)

func TestOwnersAreMailedOnce(t *testing.T) {
	w := newWorld(t)
	w.mail = notice.New(w.db, nil, "https://gpunex.example")
	w.provider("acc_a", 60*money.USDC)
	w.provider("acc_b", 70*money.USDC)
	w.exec(`INSERT INTO person (id, email, name, password_hash, locale, created_at) VALUES ('prs_2', 'second@example.com', 'Second', '', 'fr', '2026-01-01'),
		('prs_3', 'viewer@example.com', 'Viewer', '', 'de', '2026-01-01')`)
	w.exec(`INSERT INTO membership (account_id, person_id, role, created_at) VALUES ('acc_a', 'prs_2', 'owner', '2026-01-01'), ('acc_a', 'prs_3', 'viewer', '2026-01-01')`)
	s := w.service()
	if err := w.set(s, "acc_b", payout.Setting{Schedule: "weekly", Rail: "simulated", Destination: simulated.Closed}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.run(s, monday)
	}
	mails, err := w.mail.Outbox(t.Context(), 10)
	if err != nil || len(mails) != 3 {
		t.Fatalf("got %+v, %v", mails, err)
	}
	to := map[string]string{}
	for _, m := range mails {
		to[m.To] = m.Kind
		if strings.ContainsAny(m.Subject+m.Body, "{}") {
			t.Errorf("a value is missing: %q %q", m.Subject, m.Body)
		}
	}
	if to["acc_a@example.com"] != "payout.paid" || to["second@example.com"] != "payout.paid" || to["acc_b@example.com"] != "payout.returned" {
		t.Errorf("got %v", to)
	}
	w.check()
}

// A mail that can't be written is an error of the run, and no reason to leave the books wrong.
func TestBrokenMailDoesNotKeepTheBooksBack(t *testing.T) {
	w := newWorld(t)
	w.mail = notice.New(w.db, nil, "https://gpunex.example")
	w.provider("acc_a", 60*money.USDC)
	w.exec(`DROP TABLE mail CASCADE`)
	sum, err := w.service().Run(t.Context(), monday)
	if err == nil || sum.Paid != 1 || sum.Open != 0 {
		t.Errorf("got %+v, %v", sum, err)
	}
	w.checkFinished(1, 60*money.USDC)
}
