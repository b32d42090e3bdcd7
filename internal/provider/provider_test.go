package provider_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/db/dbtest"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/id"
	"github.com/gpunex/gpunex/internal/mail"
	"github.com/gpunex/gpunex/internal/mail/mailtest"
	"github.com/gpunex/gpunex/internal/notice"
	"github.com/gpunex/gpunex/internal/provider"
)

const base = "https://gpunex.example"

var now = time.Date(2026, 12, 3, 9, 0, 0, 0, time.UTC) // a Thursday

// tokens issues tokens as the fleet does, as far as an application sees.
type tokens struct {
	fail   error
	issued int
}

func (f *tokens) Issue(ctx context.Context, q db.Querier, now time.Time, owner string, maxHosts int) (string, error) {
	if f.fail != nil {
		return "", f.fail
	}
	f.issued++
	tok := id.New(id.Token)
	_, err := q.Exec(ctx, `INSERT INTO enrolment_token (id, provider_id, hash, hint, created_at, expires_at, max_hosts) VALUES ($1, $2, $3, '1234', $4, $5, $6)`,
		tok, owner, []byte(tok), now, now.Add(14*24*time.Hour), maxHosts)
	return "gpx_TestToken1234", err
}

type world struct {
	*testing.T
	db       *db.DB
	accounts *account.Service
	notices  *notice.Service
	tokens   *tokens
	s        *provider.Service
	ana, op  account.Identity
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, db: dbtest.New(t), tokens: &tokens{}}
	w.accounts = account.New(w.db)
	w.notices = notice.New(w.db, nil, base)
	w.s = provider.New(w.db, w.accounts, w.notices, w.tokens, base)
	w.ana = w.person("ana@example.com", "Ana Sousa")
	var err error
	w.op, err = w.accounts.MakeOperator(t.Context(), now, account.SignUp{Email: "op@example.com", Name: "Olga", Password: "correct horse"})
	w.ok(err)
	return w
}

func (w *world) person(email, name string) account.Identity {
	w.Helper()
	who, err := w.accounts.SignUp(w.Context(), now, account.SignUp{Email: email, Name: name, Password: "correct horse", Locale: "pt-PT"})
	w.ok(err)
	return who
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) fails(err error, code string) {
	w.Helper()
	if !fault.Is(err, code) {
		w.Errorf("got %v, want %s", err, code)
	}
}

// submitted opens and submits an application.
func (w *world) submitted(who account.Identity, f provider.Form) provider.Application {
	w.Helper()
	_, err := w.s.Open(w.Context(), now, who)
	w.ok(err)
	a, err := w.s.Submit(w.Context(), now, who, f)
	w.ok(err)
	return a
}

// mailed gives the kinds of all mails, oldest first.
func (w *world) mailed() (kinds []string, newest notice.Mail) {
	w.Helper()
	list, err := w.notices.Outbox(w.Context(), 100)
	w.ok(err)
	for i := len(list) - 1; i >= 0; i-- {
		kinds = append(kinds, strings.TrimPrefix(list[i].Kind, "application."))
	}
	if len(list) > 0 {
		newest = list[0]
	}
	return kinds, newest
}

func (w *world) wantMails(want ...string) notice.Mail {
	w.Helper()
	got, newest := w.mailed()
	if strings.Join(got, " ") != strings.Join(want, " ") {
		w.Errorf("mails %v, want %v", got, want)
	}
	return newest
}

func form() provider.Form {
	return provider.Form{
		FullName: "Ana Sousa", Email: "gpus@example.com", UPS: true, Commitment: "12",
		Entries: []provider.Entry{{
			Model: "h100-sxm", Quantity: "8", RAMGB: "512", UploadGbps: "1", DownloadGbps: "2,5", Availability: "24/7",
			City: "Lisboa", Country: "pt", Region: "eu-west",
		}},
	}
}

func approval() provider.Approval {
	return provider.Approval{Tier: provider.Enterprise, Models: []string{"h100-sxm", " h100-sxm "}, MaxHosts: 2, Note: "fine"}
}

func TestLifecycle(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	if _, has, err := w.s.Current(ctx, w.ana.Account.ID); has || err != nil {
		t.Fatalf("has one already: %v", err)
	}
	w.fails(w.s.Save(ctx, now, w.ana, form()), "application_not_found")
	a, err := w.s.Open(ctx, now, w.ana)
	w.ok(err)
	if a.State != provider.Draft || a.Form.FullName != "Ana Sousa" || a.Form.Email != "ana@example.com" || a.Locale != "pt-PT" {
		t.Errorf("draft %+v", a)
	}
	if again, err := w.s.Open(ctx, now.Add(time.Minute), w.ana); err != nil || again.ID != a.ID {
		t.Errorf("opened %s, %v; want %s", again.ID, err, a.ID)
	}

	a, err = w.s.Submit(ctx, now, w.ana, form())
	w.ok(err)
	due := time.Date(2026, 12, 8, 9, 0, 0, 0, time.UTC) // over the weekend
	if a.State != provider.Submitted || a.DueAt == nil || !a.DueAt.Equal(due) || !a.SubmittedAt.Equal(now) || len(a.Events) != 1 {
		t.Errorf("submitted %+v", a)
	}
	if m := w.wantMails("submitted"); m.To != "gpus@example.com" || !strings.Contains(m.Body, "decide até 2026-12-08") || !strings.HasPrefix(m.Body, "Olá Ana Sousa,") {
		t.Errorf("mail %+v", m)
	}
	w.fails(w.s.Save(ctx, now, w.ana, form()), "application_submitted")
	_, err = w.s.Submit(ctx, now, w.ana, form())
	w.fails(err, "application_submitted")

	w.ok(w.s.RequestInformation(ctx, now.Add(time.Hour), w.op, a.ID, " Which UPS? "))
	if m := w.wantMails("submitted", "information_requested"); !strings.Contains(m.Body, "\n\nWhich UPS?\n\n") {
		t.Errorf("mail %+v", m)
	}
	f := form()
	f.MaintenanceNotes = "APC Smart-UPS"
	w.ok(w.s.Save(ctx, now.Add(2*time.Hour), w.ana, f))
	later := now.Add(96 * time.Hour)
	a, err = w.s.Submit(ctx, later, w.ana, f)
	w.ok(err)
	if !a.DueAt.Equal(time.Date(2026, 12, 10, 9, 0, 0, 0, time.UTC)) {
		t.Errorf("due %v after the answer", a.DueAt)
	}

	w.ok(w.s.Approve(ctx, later, w.op, a.ID, approval()))
	m := w.wantMails("submitted", "information_requested", "submitted", "approved")
	for _, want := range []string{"curl -fsSL " + base + "/agent | bash\n", "gpx_TestToken1234", "2026-12-21", "Nível Enterprise", "NVIDIA H100 SXM", "máquinas: 2.", "docker ps | grep gpunex-agent"} {
		if !strings.Contains(m.Body, want) {
			t.Errorf("the mail lacks %q:\n%s", want, m.Body)
		}
	}
	if strings.Contains(m.Body, "–") {
		t.Errorf("the mail has a gap:\n%s", m.Body)
	}
	p, is, err := w.s.Of(ctx, w.ana.Account.ID)
	w.ok(err)
	if !is || p.Tier != provider.Enterprise || p.Status != "active" || p.MaxHosts != 2 || p.CommitmentMonths != 12 || p.City != "Lisboa" || p.Country != "PT" || len(p.Models) != 1 || !p.ApprovedAt.Equal(later) {
		t.Errorf("provider %+v", p)
	}
	a, has, err := w.s.Current(ctx, w.ana.Account.ID)
	w.ok(err)
	var story []string
	for _, e := range a.Events {
		story = append(story, e.Person+" "+string(e.From)+">"+string(e.To)+" "+e.Reason)
	}
	if got, want := strings.Join(story, "; "), "Ana Sousa draft>submitted ; Olga submitted>information_requested Which UPS?; Ana Sousa information_requested>submitted ; Olga submitted>approved fine"; !has || got != want {
		t.Errorf("events %s", got)
	}
	if a.DecidedAt == nil || !a.DecidedAt.Equal(later) || a.Form.MaintenanceNotes != "APC Smart-UPS" {
		t.Errorf("application %+v", a)
	}

	_, err = w.s.Open(ctx, later, w.ana)
	w.fails(err, "already_provider")
	w.fails(w.s.Withdraw(ctx, later, w.ana), "application_decided")
	w.fails(w.s.Reject(ctx, later, w.op, a.ID, "no"), "application_decided")
	log, err := w.accounts.AuditLog(ctx, 10)
	w.ok(err)
	if log[0].Action != "application.approved" || log[0].Subject != a.ID || log[0].PersonID != w.op.Person.ID {
		t.Errorf("audit log %+v", log[0])
	}
}

func TestDraftKeepsWhateverWasTyped(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	_, err := w.s.Open(ctx, now, w.ana)
	w.ok(err)
	wrong := provider.Form{
		FullName: "  ", Email: "not an address", Commitment: "99", MaintenanceNotes: "línea\n\t\"quoted\" \\u0000",
		Entries: []provider.Entry{{Model: "other", Quantity: "many", RAMGB: "-1", UploadGbps: "1,,5", Availability: "schedule", Country: "XX", Schedule: []provider.Window{{Day: 9, From: "25:00", To: "x"}}}, {}},
	}
	w.ok(w.s.Save(ctx, now, w.ana, wrong))
	check := func() {
		t.Helper()
		a, _, err := w.s.Current(ctx, w.ana.Account.ID)
		w.ok(err)
		got := a.Form
		if a.State != provider.Draft || got.FullName != wrong.FullName || got.Email != wrong.Email || got.MaintenanceNotes != wrong.MaintenanceNotes || len(got.Entries) != 2 ||
			got.Entries[0].Quantity != "many" || got.Entries[0].Schedule[0] != wrong.Entries[0].Schedule[0] || got.Entries[0].UploadGbps != "1,,5" {
			t.Errorf("kept %+v", got)
		}
	}
	check()
	w.ok(w.s.Save(ctx, now, w.ana, provider.Form{}))
	_, err = w.s.Submit(ctx, now, w.ana, wrong) // refused, and kept
	w.fails(err, "form")
	check()
	// What the database can't hold is left out, not refused.
	w.ok(w.s.Save(ctx, now, w.ana, provider.Form{FullName: "A\x00na\xff"}))
	if a, _, err := w.s.Current(ctx, w.ana.Account.ID); err != nil || a.Form.FullName != "Ana\ufffd" {
		t.Errorf("kept %q, %v", a.Form.FullName, err)
	}
	w.fails(w.s.Save(ctx, now, w.ana, provider.Form{MaintenanceNotes: strings.Repeat("x", 1<<20)}), "too_long")
	w.wantMails()
}

func TestWithdraw(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	w.fails(w.s.Withdraw(ctx, now, w.ana), "application_not_found")
	_, err := w.s.Open(ctx, now, w.ana)
	w.ok(err)
	w.ok(w.s.Withdraw(ctx, now, w.ana)) // a draft: nobody is mailed
	w.wantMails()
	a := w.submitted(w.ana, form())
	w.ok(w.s.RequestInformation(ctx, now, w.op, a.ID, "Why?"))
	broken := form()
	broken.Email = "gone wrong"
	w.ok(w.s.Save(ctx, now, w.ana, broken))
	w.ok(w.s.Withdraw(ctx, now.Add(time.Hour), w.ana))
	if m := w.wantMails("submitted", "information_requested", "withdrawn"); m.To != "ana@example.com" {
		t.Errorf("mailed to %s", m.To)
	}
	w.fails(w.s.Approve(ctx, now, w.op, a.ID, approval()), "application_decided")
	if b := w.submitted(w.ana, form()); b.ID == a.ID {
		t.Error("the withdrawn application was opened again")
	}
}

func TestReject(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := w.submitted(w.ana, form())
	for _, reason := range []string{"", " \n"} {
		err := w.s.Reject(ctx, now, w.op, a.ID, reason)
		w.fails(err, "reason_required")
		if f, _ := fault.As(err); f == nil || f.Fields["reason"] == nil {
			t.Errorf("no fault at the field: %v", err)
		}
		w.fails(w.s.RequestInformation(ctx, now, w.op, a.ID, reason), "reason_required")
	}
	w.ok(w.s.Reject(ctx, now, w.op, a.ID, "No {token} here"))
	if m := w.wantMails("submitted", "rejected"); !strings.Contains(m.Body, "No {token} here") {
		t.Errorf("mail %+v", m)
	}
	if _, is, err := w.s.Of(ctx, w.ana.Account.ID); is || err != nil || w.tokens.issued != 0 {
		t.Errorf("provider %v, %v, %d tokens", is, err, w.tokens.issued)
	}
	w.fails(w.s.Save(ctx, now, w.ana, form()), "application_decided")
	if q, err := w.s.Queue(ctx); err != nil || len(q) != 0 {
		t.Errorf("queue %v, %v", q, err)
	}
}

func TestTwoOperatorsAtOnce(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := w.submitted(w.ana, form())
	other, err := w.accounts.MakeOperator(ctx, now, account.SignUp{Email: "op2@example.com", Name: "Otto", Password: "correct horse"})
	w.ok(err)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			switch who := []account.Identity{w.op, other}[i%2]; {
			case i < 4:
				errs[i] = w.s.Approve(ctx, now, who, a.ID, approval())
			default:
				errs[i] = w.s.Reject(ctx, now, who, a.ID, "no")
			}
		})
	}
	wg.Wait()
	done := 0
	for _, err := range errs {
		if err == nil {
			done++
		} else {
			w.fails(err, "application_decided")
		}
	}
	a, err = w.s.ByID(ctx, a.ID)
	w.ok(err)
	if done != 1 || len(a.Events) != 2 {
		t.Errorf("%d decided, %d events", done, len(a.Events))
	}
	w.wantMails("submitted", string(a.State))
}

func TestNothingHappensByHalves(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := w.submitted(w.ana, form())
	w.tokens.fail = errors.New("no token today")
	if err := w.s.Approve(ctx, now, w.op, a.ID, approval()); !errors.Is(err, w.tokens.fail) {
		t.Fatalf("got %v", err)
	}
	got, err := w.s.ByID(ctx, a.ID)
	w.ok(err)
	if _, is, err := w.s.Of(ctx, w.ana.Account.ID); is || err != nil || got.State != provider.Submitted || len(got.Events) != 1 {
		t.Errorf("provider %v, %v; application %+v", is, err, got)
	}
	w.wantMails("submitted")
	w.tokens.fail = nil
	w.ok(w.s.Approve(ctx, now, w.op, a.ID, approval()))
	w.wantMails("submitted", "approved")
}

// The platform dies after the decision and before its mail: whoever comes up next delivers it.
func TestMailOutlivesACrash(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := w.submitted(w.ana, form())
	w.ok(w.s.Approve(ctx, now, w.op, a.ID, approval()))

	sink, err := mailtest.Listen("127.0.0.1:0")
	w.ok(err)
	defer sink.Close()
	smtp, err := mail.NewSMTP("smtp://" + sink.Addr() + "?tls=none&from=gpunex@mail.example")
	w.ok(err)
	next := notice.New(w.db, smtp, base)
	for i, want := range []int{2, 0} {
		if sent, err := next.Deliver(ctx, now.Add(time.Duration(i)*time.Hour)); err != nil || sent != want {
			t.Fatalf("delivered %d, %v; want %d", sent, err, want)
		}
	}
	m, err := sink.Wait(ctx, func(m mailtest.Message) bool { return strings.Contains(m.Body, "gpx_TestToken1234") })
	if err != nil || m.To != "gpus@example.com" || len(sink.Messages()) != 2 {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestApproveRefuses(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	weak := form()
	weak.UPS = false
	a := w.submitted(w.ana, weak)
	try := func(change func(*provider.Approval)) error {
		ap := approval()
		change(&ap)
		return w.s.Approve(ctx, now, w.op, a.ID, ap)
	}
	w.fails(try(func(*provider.Approval) {}), "enterprise_requirements")
	w.fails(try(func(ap *provider.Approval) { ap.MaxHosts = 0 }), "max_hosts_invalid")
	w.fails(try(func(ap *provider.Approval) { ap.Models = []string{" "} }), "models_required")
	w.fails(try(func(ap *provider.Approval) { ap.Tier = "gold" }), "tier_invalid")
	w.fails(w.s.Approve(ctx, now, w.op, "app_none", approval()), "application_not_found")
	w.fails(w.s.Approve(ctx, now, w.ana, a.ID, approval()), "operators_only")
	w.fails(w.s.Reject(ctx, now, w.ana, a.ID, "no"), "operators_only")
	w.ok(w.s.RequestInformation(ctx, now, w.op, a.ID, "UPS?"))
	half := form()
	half.Entries = nil
	w.ok(w.s.Save(ctx, now, w.ana, half))
	w.fails(try(func(*provider.Approval) {}), "application_incomplete")
	w.ok(w.s.Save(ctx, now, w.ana, weak))
	w.ok(try(func(ap *provider.Approval) { ap.Tier = provider.Community }))
	w.wantMails("submitted", "information_requested", "approved")
}

func TestOthersSeeAndChangeNothing(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := w.submitted(w.ana, form())
	bob := w.person("bob@example.com", "Bob")
	if _, has, err := w.s.Current(ctx, bob.Account.ID); has || err != nil {
		t.Errorf("sees another's application: %v", err)
	}
	w.fails(w.s.Withdraw(ctx, now, bob), "application_not_found")
	w.fails(w.s.Save(ctx, now, bob, form()), "application_not_found")
	mine, err := w.s.Open(ctx, now, bob)
	w.ok(err)
	if mine.ID == a.ID || mine.Form.Email != "bob@example.com" {
		t.Errorf("opened %+v", mine)
	}
	w.fails(w.s.Approve(ctx, now, w.op, mine.ID, approval()), "application_not_found") // a draft is nobody else's business
	viewer := w.ana
	viewer.Role = "viewer"
	w.fails(w.s.Withdraw(ctx, now, viewer), "role_forbidden")
	_, err = w.s.Open(ctx, now, viewer)
	w.fails(err, "role_forbidden")
}
