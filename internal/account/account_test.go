package account_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"pgregory.net/rapid"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db/dbtest"
	"github.com/gpunex/gpunex/internal/fault"
)

var now = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

var ana = account.SignUp{Email: " Ana@Example.com ", Name: "Ana Sousa", Password: "correct horse", Locale: "pt-PT"}

func TestSignUpAndSignIn(t *testing.T) {
	ctx, s := t.Context(), account.New(dbtest.New(t))
	who, err := s.SignUp(ctx, now, ana)
	if err != nil {
		t.Fatal(err)
	}
	if who.Person.Email != "ana@example.com" || who.Account.Name != "Ana Sousa" || who.Role != "owner" || who.Person.Locale != "pt-PT" || who.Account.Operator {
		t.Errorf("signed up as %+v", who)
	}
	in, err := s.SignIn(ctx, now, "ANA@example.com", "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if in.Person.ID != who.Person.ID || in.Account.ID != who.Account.ID || in.Role != "owner" || !in.Person.CreatedAt.Equal(now) {
		t.Errorf("signed in as %+v", in)
	}
	for email, password := range map[string]string{
		"ana@example.com": "wrong horse 1", "bob@example.com": "correct horse", "no address": "correct horse", "a@b.example": strings.Repeat("x", 5000),
	} {
		if _, err := s.SignIn(ctx, now, email, password); !fault.Is(err, "sign_in_failed") {
			t.Errorf("%s: got %v, want sign_in_failed", email, err)
		}
	}
	acc, err := s.ByID(ctx, who.Account.ID)
	if err != nil || acc.ID != who.Account.ID {
		t.Errorf("by id: %+v, %v", acc, err)
	}
	if _, err := s.ByID(ctx, "acc_none"); !fault.Is(err, "account_not_found") {
		t.Errorf("unknown account: %v", err)
	}
	if _, err := s.Identify(ctx, "prs_none"); !fault.Is(err, "person_not_found") {
		t.Errorf("unknown person: %v", err)
	}
}

func TestSignUpTellsAllAtOnce(t *testing.T) {
	ctx, s := t.Context(), account.New(dbtest.New(t))
	if _, err := s.SignUp(ctx, now, ana); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in   account.SignUp
		want map[string]string
	}{
		{account.SignUp{}, map[string]string{"email": "email_required", "name": "name_required", "password": "password_short"}},
		{account.SignUp{Email: "ana", Name: " \t", Password: "123456789"}, map[string]string{"email": "email_invalid", "name": "name_required", "password": "password_short"}},
		{account.SignUp{Email: "ana@EXAMPLE.com", Name: strings.Repeat("é", 201), Password: strings.Repeat("é", 201)}, map[string]string{"email": "email_taken", "name": "name_long", "password": "password_long"}},
		{account.SignUp{Email: "new@example.com", Name: "A\x00B", Password: "correct horse"}, map[string]string{"name": "name_invalid"}},
		{account.SignUp{Email: "new@example.com", Name: "A\xff", Password: "correct horse"}, map[string]string{"name": "name_invalid"}},
	} {
		_, err := s.SignUp(ctx, now, c.in)
		f, ok := fault.As(err)
		if !ok || len(f.Fields) != len(c.want) {
			t.Errorf("%+v: got %v, want %v", c.in, err, c.want)
			continue
		}
		for field, code := range c.want {
			if f.Fields[field] == nil || f.Fields[field].Code != code {
				t.Errorf("%+v: %s is %v, want %s", c.in, field, f.Fields[field], code)
			}
		}
	}
	// Characters are counted, not bytes; an unknown language is English.
	who, err := s.SignUp(ctx, now, account.SignUp{Email: "long@example.com", Name: strings.Repeat("é", 200), Password: strings.Repeat("é", 200), Locale: "xx"})
	if err != nil || who.Person.Locale != "en" {
		t.Errorf("longest: %+v, %v", who.Person.Locale, err)
	}
}

func TestPasswordIsTheSameHoweverComposed(t *testing.T) {
	ctx, s := t.Context(), account.New(dbtest.New(t))
	in := ana
	in.Password = "caf\u00e9 au lait"
	if _, err := s.SignUp(ctx, now, in); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SignIn(ctx, now, ana.Email, "cafe\u0301 au lait"); err != nil {
		t.Error(err)
	}
}

func TestSignUpAtTheSameMoment(t *testing.T) {
	ctx, s := t.Context(), account.New(dbtest.New(t))
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() { _, errs[i] = s.SignUp(ctx, now, ana) })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		switch f, ok := fault.As(err); {
		case err == nil:
			made++
		case !ok || f.Fields["email"] == nil || f.Fields["email"].Code != "email_taken":
			t.Errorf("got %v, want email_taken", err)
		}
	}
	if list, err := s.Accounts(ctx, 10); err != nil || made != 1 || len(list) != 1 {
		t.Errorf("%d signed up, %d accounts, %v", made, len(list), err)
	}
}

func TestSetLocale(t *testing.T) {
	ctx, s := t.Context(), account.New(dbtest.New(t))
	who, err := s.SignUp(ctx, now, ana)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetLocale(ctx, who.Person.ID, "de"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetLocale(ctx, who.Person.ID, "xx"); !fault.Is(err, "locale_unknown") {
		t.Errorf("got %v", err)
	}
	if got, err := s.Identify(ctx, who.Person.ID); err != nil || got.Person.Locale != "de" {
		t.Errorf("got %+v, %v", got.Person, err)
	}
}

func TestMakeOperator(t *testing.T) {
	ctx, s := t.Context(), account.New(dbtest.New(t))
	before, err := s.SignUp(ctx, now, ana)
	if err != nil {
		t.Fatal(err)
	}
	who, err := s.MakeOperator(ctx, now, account.SignUp{Email: "ana@example.com"}) // no password needed: she has one
	if err != nil || who.Person.ID != before.Person.ID || !who.Account.Operator {
		t.Fatalf("got %+v, %v", who, err)
	}
	if got, err := s.SignIn(ctx, now, ana.Email, ana.Password); err != nil || !got.Account.Operator {
		t.Errorf("signed in: %+v, %v", got, err)
	}
	fresh, err := s.MakeOperator(ctx, now, account.SignUp{Email: "op@example.com", Name: "Op", Password: "correct horse"})
	if err != nil || !fresh.Account.Operator {
		t.Fatalf("got %+v, %v", fresh, err)
	}
	if _, err := s.MakeOperator(ctx, now, account.SignUp{Email: "op2@example.com", Name: "Op"}); !fault.Is(err, "form") {
		t.Errorf("no password: %v", err)
	}
	list, err := s.AuditLog(ctx, 10)
	if err != nil || len(list) != 2 || list[0].Action != "account.make_operator" || list[0].Subject != fresh.Account.ID || list[0].Detail["person"] != fresh.Person.ID {
		t.Errorf("audit log %+v, %v", list, err)
	}
}

func TestSessionStore(t *testing.T) {
	ctx, d := t.Context(), dbtest.New(t)
	s := account.New(d)
	clock := now
	s.SetClock(func() time.Time { return clock })
	st := s.SessionStore()
	check := func(want string) {
		t.Helper()
		got, found, err := st.FindCtx(ctx, "tok")
		if err != nil || string(got) != want || found != (want != "") {
			t.Errorf("got %q, %v, %v; want %q", got, found, err, want)
		}
	}
	check("")
	for _, data := range []string{"one", "two"} {
		if err := st.CommitCtx(ctx, "tok", []byte(data), now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		check(data)
	}
	clock = now.Add(time.Hour)
	check("")
	if n, err := s.ForgetSessions(ctx, now.Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	clock = now
	check("")
	if err := st.CommitCtx(ctx, "tok", []byte("three"), now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := st.DeleteCtx(ctx, "tok"); err != nil {
		t.Fatal(err)
	}
	check("")
	if err := st.DeleteCtx(ctx, "tok"); err != nil {
		t.Errorf("a session that isn't there: %v", err)
	}
}

func TestParseEmail(t *testing.T) {
	for in, want := range map[string]string{
		"a@b.example": "a@b.example", " A.B+c@Sub.B.Example\n": "a.b+c@sub.b.example",
		"": "", "a": "", "a@b": "", "@b.example": "", "a@": "", "a b@c.example": "", "a@b..example": "", "a@-b.example": "",
		"Ana <a@b.example>": "", `"a b"@c.example`: "", "a@[127.0.0.1]": "", "a@b.example, c@d.example": "", "á@b.example": "", "a@b.example\r\nBcc: c@d.example": "",
		strings.Repeat("a", 65) + "@b.example": "", "a@" + strings.Repeat("b.", 130) + "example": "",
	} {
		if got, ok := account.ParseEmail(in); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", in, got, ok, want)
		}
	}
}

func TestParseEmailProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got, ok := account.ParseEmail(rapid.String().Draw(t, "s"))
		if again, ok2 := account.ParseEmail(got); ok && (!ok2 || again != got) {
			t.Fatalf("%q is parsed to %q, %v", got, again, ok2)
		}
	})
}

func TestUnknownPersonCostsTheSame(t *testing.T) {
	params, _, _, err := argon2id.DecodeHash(account.Nobody)
	if err != nil || *params != *account.Argon {
		t.Errorf("got %+v, %v; want %+v", params, err, account.Argon)
	}
}
