package benchmark

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/account"
	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/fleet"
	"github.com/gpunex/gpunex/internal/gpu"
	"github.com/gpunex/gpunex/internal/notice"
)

// tell mails the provider's owners when a GPU leaves the market or comes back: when its verdict differs from the one
// before, or its first one failed.
func (s *Service) tell(ctx context.Context, tx db.Tx, now time.Time, run runRow, h fleet.Host, v judged, before *bool) error {
	var kind string
	switch {
	case !v.Passed && (before == nil || *before):
		kind = "gpu.withdrawn"
	case v.Passed && before != nil && !*before:
		kind = "gpu.listed_again"
	default:
		return nil
	}
	owners, err := account.Owners(ctx, tx, h.ProviderID)
	if err != nil {
		return err
	}
	for _, o := range owners {
		n := notice.Notice{Key: kind + ":" + run.ID + ":" + v.ID + ":" + o.ID, Kind: kind, To: o.Email, Locale: o.Locale, Data: letter(o, h, v)}
		if err := s.notices.Send(ctx, tx, now, n); err != nil {
			return fmt.Errorf("benchmark: mail the provider: %w", err)
		}
	}
	return nil
}

// letter gives the values of the mail: the worst figure stands for all.
func letter(o account.Person, h fleet.Host, v judged) map[string]string {
	name := v.Model
	if m, ok := gpu.Find(v.Model); ok {
		name = m.Name
	}
	d := map[string]string{"name": o.Name, "gpu": v.Detail.UUID, "model": name, "host": h.Name, "score": strconv.Itoa(v.Score)}
	if f, ok := worst(v.Failures); ok {
		w := wordsOf(o.Locale)
		d["figure"], d["causes"] = w.figure[f.Figure], w.cause[f.Code]
		if f.Code == "below_floor" {
			d["causes"] = w.below[f.Figure]
		}
		if d["figure"] == "" {
			d["figure"] = w.proof
		}
		d["measured"], d["expected"], d["floor"] = w.amount(f.Value, f.Figure), w.amount(f.Expected, f.Figure), w.amount(f.Floor*f.Expected, f.Figure)
		if f.Expected > 0 {
			d["ratio"] = strconv.Itoa(int(100*f.Value/f.Expected)) + " %"
		}
	}
	return d
}

// worst is the failure to begin with: the first that isn't about a figure, else the figure furthest below its floor.
func worst(fs []Failure) (Failure, bool) {
	if len(fs) == 0 {
		return Failure{}, false
	}
	w := fs[0]
	for _, f := range fs[1:] {
		if w.Code == "below_floor" && (f.Code != "below_floor" || f.Value/(f.Floor*f.Expected) < w.Value/(w.Floor*w.Expected)) {
			w = f
		}
	}
	return w, true
}

// amount writes a value with its unit, or a dash where there is none.
func (w words) amount(v float64, f gpu.Figure) string {
	if !gpu.Number(v) {
		return "–"
	}
	return strings.Replace(strconv.FormatFloat(v, 'f', 1, 64), ".", w.comma, 1) + " " + f.Unit()
}
