package provider

import (
	"context"
	"strconv"
	"strings"

	"github.com/gpunex/gpunex/internal/gpu"
)

// The minimum that a host should have.
const (
	minVRAM      = 16  // GiB
	minRAMPerGPU = 16  // GB
	minMbps      = 100 // each way
	gpusPerHost  = 8   // more of one entry stand in several hosts
)

// Findings says what a machine noticed about an application.
func (s *Service) Findings(ctx context.Context, a Application) ([]Finding, error) {
	list := a.Form.findings()
	twins, err := listTwins(ctx, s.db, a)
	if err != nil {
		return nil, err
	}
	for _, t := range twins {
		list = append(list, Finding{Code: "duplicate_applicant", Text: "Application {application} of another account has the same email, or the same name and city", Args: map[string]string{"application": t}})
	}
	return list, nil
}

// findings are those that the form alone tells. What can't be read is no finding: submitting refuses it.
func (f Form) findings() []Finding {
	var list []Finding
	below := func(i int, what, have, need string) {
		list = append(list, Finding{Code: "below_minimum", Text: "Entry {n}: {what} is {have}, the minimum is {need}", Args: map[string]string{"n": strconv.Itoa(i + 1), "what": what, "have": have, "need": need}})
	}
	for i, e := range f.Entries {
		if e.Model == otherModel {
			list = append(list, Finding{Code: "model_unknown", Text: "Entry {n}: {model} is not in the catalogue", Args: map[string]string{"n": strconv.Itoa(i + 1), "model": strings.TrimSpace(e.OtherModel)}})
		} else if m, ok := gpu.Find(e.Model); ok && m.VRAMGiB < minVRAM {
			below(i, "VRAM", strconv.Itoa(m.VRAMGiB)+" GiB", strconv.Itoa(minVRAM)+" GiB")
		}
		quantity, okQ := whole(e.Quantity, maxQuantity)
		if ram, ok := whole(e.RAMGB, maxRAM); ok && okQ {
			if need := minRAMPerGPU * min(quantity, gpusPerHost); ram < need {
				below(i, "RAM", strconv.Itoa(ram)+" GB", strconv.Itoa(need)+" GB")
			}
		}
		if n, ok := mbps(e.UploadGbps); ok && n < minMbps {
			below(i, "upload", strconv.Itoa(n)+" Mbps", strconv.Itoa(minMbps)+" Mbps")
		}
		if n, ok := mbps(e.DownloadGbps); ok && n < minMbps {
			below(i, "download", strconv.Itoa(n)+" Mbps", strconv.Itoa(minMbps)+" Mbps")
		}
	}
	// The form asks for no tier: whoever offers all else that Enterprise needs may mean it.
	if !f.UPS && f.committed() && f.roundTheClock() {
		list = append(list, Finding{Code: "enterprise_without_ups", Text: "Commitment and availability fit Enterprise Tier, but there is no UPS"})
	}
	return list
}
