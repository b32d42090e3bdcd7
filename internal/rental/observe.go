package rental

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/protocol"
)

// missingFor is how long a host must go on not naming a rental before it is gone.
const missingFor = time.Minute

// Observe applies what a host reports of its workloads: states, metering, ends. Each rental is a transaction of its
// own; what the host says of rentals that aren't open on it is ignored.
func (s *Service) Observe(ctx context.Context, now time.Time, host string, hb protocol.Heartbeat) error {
	now = s.tick(now)
	open, err := openOnHost(ctx, s.db, host)
	if err != nil {
		return fmt.Errorf("rental: observe: %w", err)
	}
	said := map[string]protocol.Status{}
	for _, st := range hb.Workloads {
		said[st.Rental] = st
	}
	var all []error
	for _, r := range open {
		st, named := said[r.ID]
		var err error
		switch {
		case named:
			until := endOf(now, hb.HostTime, st)
			err = s.change(ctx, r.ID, func(tx db.Tx, r *record) error { return s.observe(ctx, tx, now, until, r, st) })
		case hb.Complete && hb.Applied >= r.WantedRevision && (r.State == Running || r.State == Stopping):
			err = s.change(ctx, r.ID, func(tx db.Tx, r *record) error { return s.miss(ctx, tx, now, r, hb.Applied) })
		}
		if err != nil {
			all = append(all, fmt.Errorf("rental: observe %s: %w", r.ID, err))
		}
	}
	return errors.Join(all...)
}

// change does something to one open rental under its lock, and tells its host if that made it do something else.
func (s *Service) change(ctx context.Context, id string, f func(tx db.Tx, r *record) error) error {
	var r record
	var before State
	err := s.db.InTx(ctx, func(tx db.Tx) (err error) {
		if r, err = lockRental(ctx, tx, id); err != nil {
			return err
		}
		before = r.State
		if r.State == Ended {
			return nil
		}
		return f(tx, &r)
	})
	if err != nil {
		return err
	}
	if r.State != before && r.State != Running {
		s.tell(r.HostID)
	}
	return s.crash("committed")
}

// endOf is up to when a report that arrives at now may be billed: now, or as long before as its workload had ended when
// it was sent. Both times are the host's, so that its clock needn't be right. A host that lies can only bill less.
func endOf(now, sent time.Time, st protocol.Status) time.Time {
	if st.FinishedAt == nil {
		return now
	}
	return now.Add(-max(sent.Sub(*st.FinishedAt), 0))
}

func (s *Service) observe(ctx context.Context, tx db.Tx, now, until time.Time, r *record, st protocol.Status) error {
	if r.MissingSince != nil {
		r.MissingSince = nil
		if err := saveRental(ctx, tx, *r); err != nil {
			return err
		}
	}
	switch {
	case st.Phase.Final():
		return s.finish(ctx, tx, now, until, r, st)
	case st.Phase == protocol.PhaseRunning:
		return s.meter(ctx, tx, now, r, st)
	case st.Phase == protocol.PhasePulling || st.Phase == protocol.PhaseCreating:
		if r.State != Starting || r.Phase == st.Phase && r.Message == note(st.Message) {
			return nil // late, or known
		}
		if r.Phase != st.Phase {
			if err := insertEvent(ctx, tx, now, r.ID, Starting, string(st.Phase)); err != nil {
				return err
			}
		}
		r.Phase, r.Message = st.Phase, note(st.Message)
		return saveRental(ctx, tx, *r)
	}
	return nil // a word of a newer agent
}

// meter counts the time that a running workload's report confirms.
func (s *Service) meter(ctx context.Context, tx db.Tx, now time.Time, r *record, st protocol.Status) error {
	began := r.RunningAt == nil && r.State == Starting
	if err := s.count(ctx, tx, now, r, r.StopAt); err != nil {
		return err
	}
	if began {
		r.SettledAt = r.RunningAt
		if err := insertEvent(ctx, tx, now, r.ID, Running, ""); err != nil {
			return err
		}
	}
	r.Phase, r.Message = st.Phase, note(st.Message)
	return saveRental(ctx, tx, *r)
}

// count meters what a report of now confirms, but nothing after stop. When the hold is nearly used up, it is extended
// first.
func (s *Service) count(ctx context.Context, tx db.Tx, now time.Time, r *record, stop *time.Time) error {
	limit, err := s.capMS(ctx, tx, *r)
	if err != nil {
		return err
	}
	if r.MeteredAt != nil && r.BilledMS+stretch(*r.MeteredAt, now, stop) >= limit {
		if err := s.topUp(ctx, tx, now, r); err != nil {
			return err
		}
		if limit, err = s.capMS(ctx, tx, *r); err != nil {
			return err
		}
	}
	m := Meter(Metering{State: r.State, RunningAt: r.RunningAt, MeteredAt: r.MeteredAt, BilledMS: r.BilledMS, CapMS: limit, StopAt: stop},
		now, true, s.cfg.Unreachable)
	r.State, r.RunningAt, r.MeteredAt, r.BilledMS = m.State, m.RunningAt, m.MeteredAt, m.BilledMS
	return nil
}

// finish ends a rental whose workload has ended. A workload that ended by itself, or because it was asked to, ran until
// then. One that was lost, or never ran, counts nothing more; nor does an end that is heard of after a silence.
func (s *Service) finish(ctx context.Context, tx db.Tx, now, until time.Time, r *record, st protocol.Status) error {
	ran := st.Phase == protocol.PhaseExited || st.Phase == protocol.PhaseStopped && r.State == Stopping
	if ran && r.RunningAt != nil {
		stop := r.StopAt
		if stop == nil || until.Before(*stop) {
			stop = &until
		}
		if err := s.count(ctx, tx, now, r, stop); err != nil {
			return err
		}
	}
	r.Phase, r.Message, r.ExitCode = st.Phase, note(st.Message), st.ExitCode
	return s.end(ctx, tx, now, r, endReason(r.State, r.StopReason, st))
}

// miss notes that a host which sees all its workloads doesn't name this one, and ends it once that has lasted. A single
// such report can be older than what we know.
func (s *Service) miss(ctx context.Context, tx db.Tx, now time.Time, r *record, applied int64) error {
	if r.State != Running && r.State != Stopping || applied < r.WantedRevision {
		return nil
	}
	if r.MissingSince == nil {
		r.MissingSince = &now
		return saveRental(ctx, tx, *r)
	}
	if now.Sub(*r.MissingSince) < missingFor {
		return nil
	}
	why := HostFault
	if r.State == Stopping {
		why = r.StopReason
	}
	return s.end(ctx, tx, now, r, why)
}

// note is a host's message as it is stored: text of a bounded length.
func note(s string) string {
	s = text(s)
	const limit = 2000
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// text makes what a host sends storable.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
