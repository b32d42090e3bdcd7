package market

import (
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/money"
)

// Offer is some free GPUs of one model on one host, at a price.
type Offer struct {
	HostID     string
	HostName   string
	ProviderID string
	Tier       string // enterprise, community
	Model      string // catalogue key
	ModelName  string
	VRAMGiB    int
	Free       int // GPUs that can be rented now
	Total      int // of this model on the host
	Micro      money.Micro
	Score      int     // lowest of the free GPUs
	Health     float64 // lowest of the free GPUs
	City       string
	Country    string
	Region     string
	Isolation  string // strongest that the host has: runc, gvisor
	Runtime    string // docker, simulated
	Simulated  bool   // the GPUs are simulated
	CPUs       int
	RAMMiB     int64
	DiskMiB    int64
	Driver     string
	CUDA       string
}

// Search narrows and orders offers. Zero values mean any.
type Search struct {
	Model      string
	MinVRAMGiB int
	MaxPrice   money.Micro // per GPU-hour
	MinScore   int
	Country    string
	Tier       string
	Count      int    // at least so many free GPUs
	Order      string // "" recommended, price, score
}

// Reason says why a GPU isn't listed.
type Reason struct {
	Code string // host_offline, gpu_missing, gpu_fault, quarantined, rented, not_benchmarked, benchmark_failed, no_price, provider_suspended, model_not_approved
	Text string // English
	Args map[string]string
}

// Listing is one GPU of a provider and whether the market shows it.
type Listing struct {
	GPUID    string
	UUID     string
	HostID   string
	HostName string
	Online   bool
	Model    string
	Name     string // model's name
	VRAMMiB  int64
	Micro    money.Micro // 0: no price
	Score    int
	Rental   string // identifier of the rental that uses it, or empty
	Listed   bool
	Reasons  []Reason // all of them; empty when listed
	// Simulated GPUs exist only in a profile file.
	Simulated bool
}

// Price is a provider's rate for a model.
type Price struct {
	Model string
	Micro money.Micro // 0: never set
	SetAt *time.Time
	GPUs  int // of this model on the provider's hosts
}

// Quote is a price and terms promised to one customer for two minutes.
type Quote struct {
	ID         string
	CustomerID string
	HostID     string
	Model      string
	GPUs       int
	Micro      money.Micro // per GPU-hour
	FeeBPS     int
	HourCost   money.Micro // of all its GPUs
	CreatedAt  time.Time
	ExpiresAt  time.Time
}

// Config are the market's numbers.
type Config struct {
	QuoteTTL time.Duration // 2 minutes
	FeeBPS   int           // 1000 = 10 %
}

// Service keeps prices and offers and makes quotes.
type Service struct {
	db  *db.DB
	cfg Config
}

// New makes the service.
func New(d *db.DB, cfg Config) *Service { return &Service{db: d, cfg: cfg} }
