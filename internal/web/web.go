package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/klauspost/compress/gzhttp"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/benchmark"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/i18n"
	"github.com/gpunex/gpunex/internal/ledger"
	"github.com/gpunex/gpunex/internal/market"
	"github.com/gpunex/gpunex/internal/notice"
	"github.com/gpunex/gpunex/internal/payout"
	"github.com/gpunex/gpunex/internal/provider"
	"github.com/gpunex/gpunex/internal/rental"
)

// Config is what the pages need: the services that they show, and a few facts.
type Config struct {
	Accounts   *account.Service
	Notices    *notice.Service
	Providers  *provider.Service
	Fleet      *fleet.Service
	Benchmarks *benchmark.Service
	Market     *market.Service
	Rentals    *rental.Service
	Ledger     *ledger.Ledger
	Payouts    *payout.Service

	DB       *db.DB    // handed on to the services that read outside a transaction
	Sessions scs.Store // nil: the account service's own

	BaseURL     string           // the platform's address, as in https://gpunex.example
	Dev         bool             // allows test money
	Unreachable time.Duration    // silence after which billing has stopped
	Now         func() time.Time // nil: the clock
	Log         *slog.Logger     // nil: the default
}

type server struct {
	Config
	catalog  *i18n.Catalog
	assets   assets
	sessions *scs.SessionManager
}

// New makes the handler of all pages. It panics when the embedded catalogue or assets are broken: that is a bug that
// the first test finds.
func New(c Config) http.Handler {
	s := newServer(c)
	return s.wrap(s.under(s.table()))
}

func newServer(c Config) *server {
	s := &server{Config: c}
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Log == nil {
		s.Log = slog.Default()
	}
	var err error
	if s.catalog, err = i18n.Load(); err != nil {
		panic(fmt.Sprintf("web: catalogue: %v", err))
	}
	if s.assets, err = loadAssets(); err != nil {
		panic(fmt.Sprintf("web: assets: %v", err))
	}
	if s.Sessions == nil && s.Accounts != nil {
		s.Sessions = s.Accounts.SessionStore()
	}
	s.sessions = newSessions(s.Sessions, strings.HasPrefix(c.BaseURL, "https://"))
	return s
}

// wrap adds what every answer gets. Only pages are compressed: streams must not wait for a full block.
func (s *server) wrap(h http.Handler) http.Handler {
	zip, err := gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.ContentTypes([]string{"text/html"}))
	if err != nil {
		panic(fmt.Sprintf("web: gzip: %v", err))
	}
	return secure(http.NewCrossOriginProtection().Handler(zip(h)))
}
