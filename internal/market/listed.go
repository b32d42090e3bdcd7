package market

import "github.com/gpunex/gpunex/internal/gpu"

// facts are all that decides whether one GPU is on offer, and what an offer of it says.
type facts struct {
	GPUID      string
	UUID       string
	HostID     string
	HostName   string
	ProviderID string
	Online     bool
	Model      string
	VRAMMiB    int64 `db:"vram_mib"`
	Present    bool
	Fault      string
	Quarantine string
	Simulated  bool
	Tier       string
	Suspended  bool
	Approved   bool // for this model
	Micro      int64
	Measured   bool // a benchmark has finished
	Passed     bool // the newest one
	Score      int
	Health     float64
	Rental     string // that has it now
	City       string
	Country    string
	Region     string
	CPUs       int
	RAMMiB     int64 `db:"ram_mib"`
	DiskMiB    int64 `db:"disk_mib"`
	Driver     string
	CUDA       string
	Runtime    string
	Isolation  string
}

// Reasons gives every reason why a GPU isn't on offer; none: it is.
func Reasons(f facts) []Reason {
	var all []Reason
	add := func(when bool, code, text string, args map[string]string) {
		if when {
			all = append(all, Reason{Code: code, Text: text, Args: args})
		}
	}
	add(!f.Online, "host_offline", "The host is offline", nil)
	add(!f.Present, "gpu_missing", "The host no longer reports this GPU", nil)
	add(f.Fault != "", "gpu_fault", "The GPU reports a fault: {fault}", map[string]string{"fault": f.Fault})
	add(f.Quarantine != "", "quarantined", "The GPU is quarantined: {why}", map[string]string{"why": f.Quarantine})
	add(f.Rental != "", "rented", "The GPU is rented", nil)
	add(!f.Measured, "not_benchmarked", "The first benchmark has not finished", nil)
	add(f.Measured && !f.Passed, "benchmark_failed", "The newest benchmark failed", nil)
	add(f.Micro <= 0, "no_price", "No rate is set for this model", nil)
	add(f.Suspended, "provider_suspended", "The provider is suspended", nil)
	add(!f.Approved, "model_not_approved", "This model is not approved for the provider: {model}", map[string]string{"model": name(f.Model)})
	return all
}

// name is a model's name for people; one that isn't in the catalogue is named as the driver does.
func name(model string) string {
	if m, ok := gpu.Find(model); ok {
		return m.Name
	}
	return model
}
