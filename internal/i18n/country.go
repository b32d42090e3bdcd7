package i18n

import (
	"slices"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// Country is one country with its name in a language.
type Country struct{ Code, Name string }

// countries lists the countries by name in this language's order.
func (l *Locale) countries() []Country {
	names := display.Regions(l.tag)
	var list []Country
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			r, err := language.ParseRegion(string([]rune{a, b}))
			if err != nil || !r.IsCountry() || r.Canonicalize() != r || reserved(r.String()) {
				continue
			}
			if n := names.Name(r); n != "" {
				list = append(list, Country{r.String(), n})
			}
		}
	}
	c := collate.New(l.tag)
	slices.SortFunc(list, func(a, b Country) int { return c.CompareString(a.Name, b.Name) })
	return list
}

// reserved are codes that ISO 3166-1 keeps for parts of countries or for groups.
func reserved(code string) bool {
	return slices.Contains([]string{"AC", "AN", "CP", "CS", "DG", "EA", "EU", "EZ", "IC", "QO", "QU", "SU", "TA", "UN", "XA", "XB", "YU", "ZZ"}, code)
}
