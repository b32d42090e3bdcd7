package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/id"
	"github.com/gpunex/gpunex/internal/protocol"
)

// Changes says whether a hello would be accepted and of other GPUs or another driver than the last one, so that what
// must follow from it can be written before it: whoever crashes in between finds the change again.
func (s *Service) Changes(now time.Time, h Host, m protocol.Hello) bool {
	return checkPeer(now, m.Protocol, m.HostTime) == nil && (h.Hardware == nil || differs(*h.Hardware, sane(m.Hardware)))
}

// Hello records what a host has. changed says that its GPUs or driver aren't those of the last hello, or that there was
// none. Refused in the reply: clock_off, protocol_old; absurd hardware is quarantined, never listed.
// Fault: host_not_found.
func (s *Service) Hello(ctx context.Context, now time.Time, host string, h protocol.Hello) (reply protocol.HelloReply, changed bool, err error) {
	if f := checkPeer(now, h.Protocol, h.HostTime); f != nil {
		return protocol.HelloReply{Refusal: &protocol.Refusal{Code: f.Code, Text: f.Error()}, IntervalMS: s.interval()}, false, nil
	}
	hw := sane(h.Hardware)
	err = s.db.InTx(ctx, func(tx db.Tx) error {
		old, err := lockHost(ctx, tx, host)
		if errors.Is(err, db.ErrNoRow) {
			return hostNotFound()
		}
		if err != nil {
			return err
		}
		changed = old.Hardware == nil || differs(*old.Hardware, hw)
		if err := saveHello(ctx, tx, now, host, clean(h.AgentVersion, 64), h.Protocol, hw); err != nil {
			return err
		}
		reply = protocol.HelloReply{IntervalMS: s.interval(), Revision: old.DesiredRevision}
		return placeAll(ctx, tx, now, old, hw.GPUs)
	})
	if err != nil {
		return protocol.HelloReply{}, false, fmt.Errorf("fleet: hello: %w", err)
	}
	return reply, changed, nil
}

// placeAll records the host's GPUs and marks those that it no longer has.
func placeAll(ctx context.Context, tx db.Tx, now time.Time, h Host, gpus []protocol.GPU) error {
	type placed struct {
		protocol.GPU
		position int
	}
	order := make([]placed, len(gpus))
	for i, g := range gpus {
		order[i] = placed{g, i}
	}
	// Rows are locked in the order of UUIDs: two hosts that claim the same GPUs wait for each other, never in a circle.
	slices.SortFunc(order, func(a, b placed) int { return cmp.Compare(a.UUID, b.UUID) })
	seen := make([]string, 0, len(gpus))
	for _, g := range order {
		one, err := place(ctx, tx, now, h, g.GPU, g.position)
		if err != nil {
			return err
		}
		seen = append(seen, one)
	}
	return markVanished(ctx, tx, h.ID, seen)
}

// place records one GPU of a host and gives its identifier.
func place(ctx context.Context, tx db.Tx, now time.Time, h Host, g protocol.GPU, position int) (string, error) {
	row := gpuRow{ID: id.New(id.GPU), HostID: h.ID, UUID: g.UUID, Position: position, Model: known(g), VRAMMiB: g.VRAMMiB, Detail: g, Fault: g.Fault}
	if g.VRAMMiB <= 0 || g.VRAMMiB > maxVRAMMiB {
		row.VRAMMiB, row.Quarantine = 1, AbsurdVRAM
	}
	made, err := insertGPU(ctx, tx, now, row)
	if err != nil || made {
		return row.ID, err
	}
	have, err := lockGPU(ctx, tx, g.UUID)
	if err != nil {
		return "", err
	}
	if have.HostID == h.ID || moved(have, h) {
		return have.ID, updateGPU(ctx, tx, take(have, row))
	}
	// Two hosts say that they have it. One lies, or both: neither is believed until an operator has looked.
	if err := quarantineGPU(ctx, tx, have.ID, SeenTwice); err != nil {
		return "", err
	}
	row.Quarantine, row.UUID = SeenTwice, alias(g.UUID, h.ID)
	if made, err = insertGPU(ctx, tx, now, row); err != nil || made {
		return row.ID, err
	}
	if have, err = lockGPU(ctx, tx, row.UUID); err != nil {
		return "", err
	}
	next := take(have, row)
	next.Quarantine = SeenTwice
	return have.ID, updateGPU(ctx, tx, next)
}

// alias is the UUID under which a second host's claim to a GPU is kept: the database knows each UUID once.
func alias(uuid, host string) string { return uuid + "@" + host }

// moved says whether a GPU may have come from the host that had it: that host said that it is gone, or is retired, or
// is an offline machine of the same provider, as after a reinstallation.
func moved(g gpuRow, to Host) bool {
	return !g.Present || g.HostRetired || g.HostProvider == to.ProviderID && !g.HostOnline && g.HostLastSeen != nil
}

// take gives a known GPU's row with what the host says now. A quarantine stays, but for memory that was absurd and no
// longer is.
func take(have, now gpuRow) gpuRow {
	quarantine := have.Quarantine
	if quarantine == "" || quarantine == AbsurdVRAM {
		quarantine = now.Quarantine
	}
	now.ID, now.UUID, now.Quarantine = have.ID, have.UUID, quarantine
	return now
}
