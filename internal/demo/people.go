package demo

import (
	"context"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/provider"
)

// Password is every demo person's.
const Password = "gpunex-demo-2026"

// Who the demo people are.
var (
	operatorPerson  = account.SignUp{Email: "operator@demo.example", Name: "Demo Operator", Password: Password, Locale: "en"}
	providerPerson  = account.SignUp{Email: "provider@demo.example", Name: "Demo Provider", Password: Password, Locale: "en"}
	applicantPerson = account.SignUp{Email: "applicant@demo.example", Name: "Demo Applicant", Password: Password, Locale: "pt-PT"}
	customerPerson  = account.SignUp{Email: "customer@demo.example", Name: "Demo Customer", Password: Password, Locale: "en"}
)

// signUp makes a person, or finds the one that an earlier run made.
func signUp(ctx context.Context, a *account.Service, in account.SignUp) (account.Identity, error) {
	who, err := a.SignUp(ctx, time.Now(), in)
	if f, ok := fault.As(err); ok && f.Kind != fault.Unavailable {
		return a.SignIn(ctx, time.Now(), in.Email, in.Password)
	}
	return who, err
}

// form is a complete application for n GPUs of a model.
func form(p account.SignUp, model, n string) provider.Form {
	return provider.Form{
		FullName: p.Name, Email: p.Email, UPS: true, Commitment: "12",
		MaintenanceNotes: "Planned 2-hour maintenance window on the first Sunday of each month.",
		Entries: []provider.Entry{{
			Model: model, Quantity: n, RAMGB: "512", UploadGbps: "1", DownloadGbps: "2,5", Availability: "24/7",
			City: "Lisbon", Country: "PT", Region: "eu-west",
		}},
	}
}

// person is a demo person with this email address.
func person(email string) account.SignUp {
	return account.SignUp{Email: email, Name: email, Password: Password, Locale: "en"}
}
