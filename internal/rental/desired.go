package rental

import (
	"context"
	"fmt"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/protocol"
)

// Desired gives the workloads that should exist on a host, in the order of their identifiers. Ended rentals are left
// out: the host forgets them and removes what is left of them.
func (s *Service) Desired(ctx context.Context, q db.Querier, host string) ([]protocol.Workload, error) {
	open, err := openOnHost(ctx, q, host)
	if err != nil {
		return nil, fmt.Errorf("rental: desired: %w", err)
	}
	list := []protocol.Workload{}
	if len(open) == 0 {
		return list, nil
	}
	hw, err := hardwareOf(ctx, q, host)
	if err != nil {
		return nil, fmt.Errorf("rental: desired: %w", err)
	}
	for _, r := range open {
		w := protocol.Workload{Rental: r.ID, Want: protocol.WantRunning, Image: r.Image, Command: r.Command, Env: r.Env}
		if r.State == Stopping {
			w.Want = protocol.WantStopped
		}
		if w.GPUs, err = claimedUUIDs(ctx, q, r.ID); err != nil {
			return nil, fmt.Errorf("rental: desired: %w", err)
		}
		w.CPUs, w.RAMMiB, w.DiskMiB = share(hw, r.GPUs)
		list = append(list, w)
	}
	return list, nil
}

// share is what a rental of some of a host's GPUs gets of the rest: its proportion, less a twentieth that stays for the
// host itself.
func share(hw protocol.Hardware, gpus int) (cpus float64, ramMiB, diskMiB int64) {
	total := max(len(hw.GPUs), gpus, 1)
	part := func(n int64) int64 { return n / 20 * 19 / int64(total) * int64(gpus) }
	milli := part(int64(hw.CPUs) * 1000)
	return float64(milli) / 1000, part(hw.RAMMiB), part(hw.DiskMiB)
}
