package payout

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fault"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/money"
	"github.com/gpunex/gpunex/internal/notice"
)

// Config are the payouts' numbers.
type Config struct {
	Minimum money.Micro // 50 USDC
}

// Service plans, sends and settles payouts.
type Service struct {
	db      *db.DB
	ledger  *ledger.Ledger
	notices *notice.Service // nil: nobody is mailed
	rails   []Rail
	cfg     Config
	// step is told of each durable step by name. Tests crash there.
	step func(name string)
}

// New makes the service.
func New(d *db.DB, l *ledger.Ledger, n *notice.Service, rails []Rail, cfg Config) *Service {
	return &Service{db: d, ledger: l, notices: n, rails: rails, cfg: cfg, step: func(string) {}}
}

// rail finds a rail by name.
func (s *Service) rail(name string) (Rail, bool) {
	for _, r := range s.rails {
		if r.Name() == name {
			return r, true
		}
	}
	return nil, false
}

// Of lists a provider's payouts, newest first; provider "" lists all, for operators.
func (s *Service) Of(ctx context.Context, provider string, limit int) ([]Payout, error) {
	list, err := payoutsOf(ctx, s.db, provider, min(max(limit, 1), maxList))
	if err != nil {
		return nil, fmt.Errorf("payout: list: %w", err)
	}
	return list, nil
}

// maxList is the longest list that Of gives.
const maxList = 1000

func errNoProvider() error {
	return fault.New(fault.Forbidden, "provider_required", "This account doesn't provide GPUs")
}

// Next says when the provider's next payout is and what it would hold.
func (s *Service) Next(ctx context.Context, now time.Time, provider string) (Next, error) {
	st, err := s.standing(ctx, s.db, provider)
	if err != nil {
		return Next{}, err
	}
	earned, err := s.ledger.Balance(ctx, s.db, ledger.Earned(provider))
	if err != nil {
		return Next{}, fmt.Errorf("payout: next of %s: %w", provider, err)
	}
	return Next{
		At: nextPayday(st.Setting.Schedule, now), Schedule: st.Setting.Schedule,
		Payable: st.Payable, Earned: earned, Minimum: s.cfg.Minimum, Reason: obstacle(st, s.cfg.Minimum),
	}, nil
}

// Setting gives how a provider is paid; weekly by the simulated rail until set.
func (s *Service) Setting(ctx context.Context, provider string) (Setting, error) {
	st, err := settingOf(ctx, s.db, provider)
	if err != nil {
		return Setting{}, fmt.Errorf("payout: setting of %s: %w", provider, err)
	}
	return st, nil
}

// maxDestination is how long a destination may be, in bytes.
const maxDestination = 200

// Set changes it for payouts that aren't planned yet. Faults: schedule_invalid, rail_invalid, destination_required,
// destination_long, provider_required.
func (s *Service) Set(ctx context.Context, now time.Time, who account.Identity, in Setting) error {
	in.Destination = strings.TrimSpace(in.Destination)
	if in.Schedule != weekly && in.Schedule != monthly {
		return fault.New(fault.Invalid, "schedule_invalid", "Choose weekly or monthly")
	}
	if _, ok := s.rail(in.Rail); !ok {
		return fault.New(fault.Invalid, "rail_invalid", "Choose one of the offered payout methods")
	}
	if in.Destination == "" {
		return fault.New(fault.Invalid, "destination_required", "Say where the money should go")
	}
	if len(in.Destination) > maxDestination {
		return fault.New(fault.Invalid, "destination_long", "Shorten the destination to {max} characters", "max", strconv.Itoa(maxDestination))
	}
	err := saveSetting(ctx, s.db, who.Account.ID, in, now)
	if db.Violates(err, "payout_setting_provider_id_fkey") {
		return errNoProvider()
	}
	if err != nil {
		return fmt.Errorf("payout: set %s: %w", who.Account.ID, err)
	}
	return nil
}
