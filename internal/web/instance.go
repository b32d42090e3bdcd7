package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/rental"
	"github.com/gpunex/gpunex/internal/web/ui"

	"github.com/gpunex/gpunex/internal/ledger"
)

const (
	listLimit = 200
	logLimit  = 500
	tick      = time.Second
)

func (s *server) instances(q *req) error {
	list, err := s.Rentals.List(q.Context(), q.who, listLimit)
	if err != nil {
		return err
	}
	var rows []ui.Listed
	for _, r := range list {
		rows = append(rows, ui.Listed{R: r, ModelName: modelName(r.Model), Cost: r.Live(q.now, s.Unreachable)})
	}
	return q.page(q.v.M.Nav.Instances, ui.InstancesPage(q.v, rows))
}

func (s *server) instance(q *req) error {
	ctx := q.Context()
	r, err := s.Rentals.Get(ctx, q.who, q.PathValue("id"))
	if err != nil {
		return err
	}
	x, err := s.story(q, r)
	if err != nil {
		return err
	}
	x.Cost, x.Last = r.Live(q.now, s.Unreachable), -1
	if x.Logs, err = s.Rentals.Logs(ctx, r.ID, -1, logLimit); err != nil {
		return err
	}
	if n := len(x.Logs); n > 0 {
		x.Last = x.Logs[n-1].Seq
	}
	return q.page(x.ModelName, ui.InstancePage(q.v, x))
}

// story is a rental with what happened to it and what it was charged.
func (s *server) story(q *req, r rental.Rental) (x ui.Instance, err error) {
	x = ui.Instance{R: r, ModelName: modelName(r.Model), Mine: r.CustomerID == q.who.Account.ID}
	if x.Events, err = s.Rentals.Events(q.Context(), r.ID); err != nil {
		return x, err
	}
	owner := q.who.Account.ID
	if q.who.Account.Operator {
		owner = "" // operators see every leg
	}
	x.Lines, err = s.Ledger.About(q.Context(), r.ID, owner)
	return x, err
}

func (s *server) stop(q *req) error {
	r, err := s.Rentals.Stop(q.Context(), q.now, q.who, q.PathValue("id"))
	if err != nil {
		return err
	}
	s.done(q, q.v.M.Instance.StopAsked)
	return q.redirect("/console/instances/" + r.ID)
}

// instanceEvents streams cost, state and log of one instance. An event's id is the newest log line that was sent, so
// that a browser that comes back goes on where it was.
func (s *server) instanceEvents(q *req) error {
	ctx := q.Context()
	r, err := s.Rentals.Get(ctx, q.who, q.PathValue("id"))
	if err != nil {
		return err
	}
	after := int64(-1)
	for _, from := range []string{q.Header.Get("Last-Event-ID"), q.URL.Query().Get("after")} {
		if n, err := strconv.ParseInt(from, 10, 64); err == nil {
			after = n
			break
		}
	}
	st, err := openStream(q)
	if err != nil {
		return err
	}
	shown, ended := "", 0
	return st.every(tick, func(n int) error {
		if r.State == rental.Ended {
			if ended++; ended > 30 && n%10 != 0 { // nothing moves but late log lines
				return nil
			}
		}
		if r, err = s.Rentals.Get(ctx, q.who, r.ID); err != nil {
			return err
		}
		for more := true; more; {
			lines, err := s.Rentals.Logs(ctx, r.ID, after, logLimit)
			if err != nil {
				return err
			}
			if len(lines) > 0 {
				after = lines[len(lines)-1].Seq
				if err := st.send(strconv.FormatInt(after, 10), ui.LogEvent(lines)); err != nil {
					return err
				}
			}
			more = len(lines) == logLimit
		}
		now := fmt.Sprint(r.State, r.Phase, r.StopReason, r.Settlements)
		if ending := r.State == rental.Stopping || r.State == rental.Ended; ending || !strings.HasPrefix(shown, now+"|") {
			x, err := s.story(q, r)
			if err != nil {
				return err
			}
			// The last settlement and the release of the hold come with no change of state.
			if now += fmt.Sprintf("|%d events, %d lines", len(x.Events), len(x.Lines)); now != shown {
				if err := st.send("", ui.StateEvent(q.v, x)); err != nil {
					return err
				}
				shown = now
			}
		}
		return st.send("", ui.CostEvent(q.v, r.Live(s.Now(), s.Unreachable)))
	})
}

func (s *server) billing(q *req) error {
	ctx, owner := q.Context(), q.who.Account.ID
	var b ui.Billing
	var err error
	if b.Available, err = s.Ledger.Balance(ctx, s.DB, ledger.Available(owner)); err != nil {
		return err
	}
	if b.Held, err = s.Ledger.Held(ctx, s.DB, owner); err != nil {
		return err
	}
	before, _ := strconv.ParseInt(q.URL.Query().Get("before"), 10, 64) // anything else: from the newest
	if b.Lines, err = s.Ledger.Lines(ctx, owner, before, listLimit); err != nil {
		return err
	}
	if n := len(b.Lines); n == listLimit {
		b.More = b.Lines[n-1].Seq
	}
	return q.page(q.v.M.Nav.Billing, ui.BillingPage(q.v, b))
}
