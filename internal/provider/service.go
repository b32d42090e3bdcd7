package provider

import (
	"context"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/notice"
)

// Form is an application as it was typed: text stays text until it is submitted, so that a draft loses nothing.
type Form struct {
	FullName         string  `json:"full_name"`
	Email            string  `json:"email"`
	Company          string  `json:"company"`
	Entries          []Entry `json:"entries"`
	UPS              bool    `json:"ups"`
	Commitment       string  `json:"commitment"` // months: "0", "3", "6", "12"
	MaintenanceNotes string  `json:"maintenance_notes"`
}

// Entry is one group of identical GPUs of a form. Faults name its fields as entries.<index>.<json name>.
type Entry struct {
	Model        string   `json:"model"`       // catalogue key, or "other"
	OtherModel   string   `json:"other_model"` // when Model is "other"
	Quantity     string   `json:"quantity"`    // 1 to 1024
	RAMGB        string   `json:"ram_gb"`
	UploadGbps   string   `json:"upload_gbps"`
	DownloadGbps string   `json:"download_gbps"`
	Availability string   `json:"availability"` // "24/7" or "schedule"
	Schedule     []Window `json:"schedule"`
	City         string   `json:"city"`
	Country      string   `json:"country"` // ISO 3166-1 alpha-2
	Region       string   `json:"region"`  // datacenter region, free text
}

// Window is a stretch of one weekday, in the host's local time.
type Window struct {
	Day  int    `json:"day"`  // 0 Monday … 6 Sunday
	From string `json:"from"` // "08:00"
	To   string `json:"to"`   // "24:00" is the end of the day
}

// State is where an application stands.
type State string

// The states.
const (
	Draft                State = "draft"
	Submitted            State = "submitted"
	InformationRequested State = "information_requested"
	Approved             State = "approved"
	Rejected             State = "rejected"
	Withdrawn            State = "withdrawn"
)

// Application is a request to provide GPUs, and its review.
type Application struct {
	ID          string
	AccountID   string
	PersonID    string
	State       State
	Form        Form
	Locale      string
	CreatedAt   time.Time
	UpdatedAt   time.Time
	SubmittedAt *time.Time
	DueAt       *time.Time // decision by then: 3 business days after submission
	DecidedAt   *time.Time
	Events      []Event // oldest first; empty in lists
}

// Event is one change of an application's state.
type Event struct {
	At     time.Time
	Person string // name
	From   State
	To     State
	Reason string
}

// Finding is something that a machine noticed about an application, for the reviewer.
type Finding struct {
	Code string // below_minimum, model_unknown, enterprise_without_ups, duplicate_applicant
	Text string // English
	Args map[string]string
}

// Tier is a provider's class.
type Tier string

// The tiers.
const (
	Enterprise Tier = "enterprise"
	Community  Tier = "community"
)

// Approval is an operator's decision.
type Approval struct {
	Tier     Tier
	Models   []string // catalogue keys or free names
	MaxHosts int
	Note     string
}

// Provider is an account that may offer GPUs.
type Provider struct {
	AccountID        string
	Tier             Tier
	Status           string // active, suspended
	Models           []string
	MaxHosts         int
	CommitmentMonths int
	City             string
	Country          string
	Region           string
	ApprovedAt       time.Time
}

// Tokens issues enrolment tokens; the fleet does.
type Tokens interface {
	Issue(ctx context.Context, q db.Querier, now time.Time, provider string, maxHosts int) (secret string, err error)
}

// Service keeps applications and providers.
type Service struct {
	db       *db.DB
	accounts *account.Service
	notices  *notice.Service
	tokens   Tokens
	base     string // the platform's address
}

// New makes the service.
func New(d *db.DB, a *account.Service, n *notice.Service, t Tokens, base string) *Service {
	return &Service{db: d, accounts: a, notices: n, tokens: t, base: base}
}

// Current gives the account's newest application with its events; false when it never had one.
func (s *Service) Current(ctx context.Context, accountID string) (Application, bool, error) {
	a, found, err := findCurrent(ctx, s.db, accountID)
	if err != nil || !found {
		return Application{}, false, err
	}
	a.Events, err = listEvents(ctx, s.db, a.ID)
	return a, err == nil, err
}

// Queue lists the applications that wait for an operator, by due date. Those whose applicant was asked something come
// last: they wait for the applicant first.
func (s *Service) Queue(ctx context.Context) ([]Application, error) { return listQueue(ctx, s.db) }

// ByID gives one application with its events. Fault: application_not_found.
func (s *Service) ByID(ctx context.Context, id string) (Application, error) {
	a, err := findApplication(ctx, s.db, id)
	if err != nil {
		return Application{}, err
	}
	a.Events, err = listEvents(ctx, s.db, id)
	return a, err
}

// Of gives the provider of an account; false when it is none.
func (s *Service) Of(ctx context.Context, accountID string) (Provider, bool, error) {
	return findProvider(ctx, s.db, accountID)
}
