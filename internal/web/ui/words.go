package ui

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

func nextQuery(next string) string {
	if next == "" {
		return ""
	}
	return "?next=" + url.QueryEscape(next)
}

func tierName(v *View, tier string) string {
	if tier == "enterprise" {
		return v.M.Provider.TierEnterprise
	}
	return v.M.Provider.TierCommunity
}

func place(city, country string) string {
	if city == "" || country == "" {
		return dash(city + country)
	}
	return city + ", " + country
}

func regionSuffix(region string) string {
	if region == "" {
		return ""
	}
	return " · " + region
}

// product is a model's name without its maker's.
func product(name string) string { return strings.ReplaceAll(name, "NVIDIA ", "") }

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func scoreText(v *View, n int) string {
	if n == 0 {
		return v.M.Market.Unrated
	}
	return num(v, n)
}

func gib(v *View, mib int64) string { return v.L.Int(mib/1024) + " " + v.M.Units.GB }

// isolation names how workloads are kept apart from the host.
func isolation(v *View, kind, runtime string) string {
	if runtime == "simulated" {
		return v.M.Common.Simulated
	}
	switch kind {
	case "gvisor":
		return "gVisor"
	case "runc", "":
		return v.M.Market.Container
	}
	return kind
}

// accountName is what an owner calls an account of the books.
func accountName(v *View, code string) string {
	kind := code
	if strings.HasPrefix(code, "hold:") {
		kind = "hold"
	} else if i := strings.LastIndexByte(code, ':'); i >= 0 {
		kind = code[i+1:]
	}
	return v.L.Code(v.M.Books, kind)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func nameOr(names map[string]string, id string) string {
	if n := names[id]; n != "" {
		return n
	}
	return id
}

func rentPath(host, model string) string { return "/rent/" + host + "/" + url.PathEscape(model) }
