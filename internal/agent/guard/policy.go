package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Policy is what the provider lets the platform use of a host.
type Policy struct {
	GPUs       []string `json:"gpus"` // UUIDs that may be let
	MaxCPUs    float64  `json:"max_cpus"`
	MaxRAMMiB  int64    `json:"max_ram_mib"`
	MaxDiskMiB int64    `json:"max_disk_mib"`
	// Simulated says that the GPUs exist only in a profile: none is passed to a container.
	Simulated bool `json:"simulated"`
	// DiskQuota makes the engine limit each container's file system; its storage driver must be able to.
	DiskQuota bool `json:"disk_quota"`
}

// ReadPolicy reads the provider's policy file.
func ReadPolicy(path string) (Policy, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Policy{}, fmt.Errorf("policy: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields() // a misspelt limit is no limit
	var p Policy
	if err := d.Decode(&p); err != nil {
		return Policy{}, fmt.Errorf("policy %s: %w", path, err)
	}
	if err := p.check(); err != nil {
		return Policy{}, fmt.Errorf("policy %s: %w", path, err)
	}
	return p, nil
}

func (p Policy) check() error {
	var errs []error
	for _, g := range p.GPUs {
		if !uuid.MatchString(g) {
			errs = append(errs, fmt.Errorf("gpus: %q is not a GPU's UUID", g))
		}
	}
	if p.MaxCPUs <= 0 {
		errs = append(errs, errors.New("max_cpus must be above 0"))
	}
	if p.MaxRAMMiB <= 0 {
		errs = append(errs, errors.New("max_ram_mib must be above 0"))
	}
	if p.MaxDiskMiB <= 0 {
		errs = append(errs, errors.New("max_disk_mib must be above 0"))
	}
	return errors.Join(errs...)
}

func (p Policy) designated(gpu string) bool {
	return slices.ContainsFunc(p.GPUs, func(g string) bool { return strings.EqualFold(g, gpu) })
}
