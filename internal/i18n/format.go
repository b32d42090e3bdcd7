package i18n

import (
	"strconv"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/money"
)

type numbers struct {
	group, decimal string
	minGroup       int    // CLDR minimumGroupingDigits
	percent        string // text before the sign
}

func numbersOf(tag string) numbers {
	switch tag {
	case "pt-PT":
		return numbers{"\u00a0", ",", 2, ""}
	case "fr":
		return numbers{"\u202f", ",", 1, "\u00a0"}
	case "de":
		return numbers{".", ",", 1, "\u00a0"}
	}
	return numbers{",", ".", 1, ""}
}

// Int formats a whole number.
func (l *Locale) Int(n int64) string { return l.fixed(n, 0) }

// Dec formats v/10^scale exactly, with all scale digits.
func (l *Locale) Dec(v int64, scale int) string { return l.fixed(v, scale) }

// Float formats f rounded to prec digits. Not for money.
func (l *Locale) Float(f float64, prec int) string {
	s := strconv.FormatFloat(f, 'f', prec, 64)
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	i, d, _ := strings.Cut(s, ".")
	return l.join(neg, i, d)
}

// Pct formats a ratio as a percentage.
func (l *Locale) Pct(ratio float64, prec int) string {
	return l.Float(ratio*100, prec) + l.nums.percent + "%"
}

// SignedPct is Pct with an explicit plus sign.
func (l *Locale) SignedPct(ratio float64, prec int) string {
	s := l.Pct(ratio, prec)
	if ratio > 0 {
		s = "+" + s
	}
	return s
}

// USDC formats an amount with all six digits, without a code.
func (l *Locale) USDC(m money.Micro) string { return l.fixed(int64(m), 6) }

const cent = 10_000 // in millionths

// USDC2 rounds half away from zero to two digits, for overview figures and prices. An amount below a cent keeps its six
// digits, so that no amount reads as nothing.
func (l *Locale) USDC2(m money.Micro) string {
	r := int64(m)
	if r > -cent && r < cent && r != 0 {
		return l.USDC(m)
	}
	if r < 0 {
		r -= 5000
	} else {
		r += 5000
	}
	return l.fixed(r/cent, 2)
}

func (l *Locale) fixed(v int64, scale int) string {
	neg := v < 0
	u := uint64(v)
	if neg {
		u = -u
	}
	s := strconv.FormatUint(u, 10)
	for len(s) <= scale {
		s = "0" + s
	}
	return l.join(neg, s[:len(s)-scale], s[len(s)-scale:])
}

func (l *Locale) join(neg bool, i, d string) string {
	var b strings.Builder
	if neg {
		b.WriteByte('-')
	}
	if len(i) >= 3+l.nums.minGroup {
		h := len(i) % 3
		if h == 0 {
			h = 3
		}
		b.WriteString(i[:h])
		for ; h < len(i); h += 3 {
			b.WriteString(l.nums.group)
			b.WriteString(i[h : h+3])
		}
	} else {
		b.WriteString(i)
	}
	if d != "" {
		b.WriteString(l.nums.decimal)
		b.WriteString(d)
	}
	return b.String()
}

// Duration formats milliseconds: hours with two digits, or minutes or seconds when there is less than one hour.
func (l *Locale) Duration(ms int64) string {
	switch s := (ms + 500) / 1000; {
	case s < 60:
		return l.Int(s) + "\u00a0s"
	case s < 3600:
		return l.Int(s/60) + "\u00a0min"
	}
	return l.Float(float64(ms)/3_600_000, 2) + "\u00a0h"
}

type dates struct {
	months, short, days []string // long and short months, short weekdays from Monday
	medium, long        string   // d, dd, M (long month), m (short month), mm, y
}

func datesOf(tag string) dates {
	f := strings.Fields
	switch tag {
	case "pt-PT":
		return dates{f("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"), nil,
			f("segunda terça quarta quinta sexta sábado domingo"), "dd/mm/y", "d de M de y"}
	case "fr":
		return dates{f("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
			f("janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc."),
			f("lun. mar. mer. jeu. ven. sam. dim."), "d m y", "d M y"}
	case "de":
		return dates{f("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"), nil,
			f("Mo Di Mi Do Fr Sa So"), "dd.mm.y", "d. M y"}
	}
	return dates{f("January February March April May June July August September October November December"),
		f("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"), f("Mon Tue Wed Thu Fri Sat Sun"), "m d, y", "M d, y"}
}

// Weekday is the short name; 0 is Monday.
func (l *Locale) Weekday(i int) string { return l.dates.days[i] }

// Date formats as CLDR's medium date.
func (l *Locale) Date(t time.Time) string { return l.date(l.dates.medium, t) }

// DateLong formats as CLDR's long date.
func (l *Locale) DateLong(t time.Time) string { return l.date(l.dates.long, t) }

// Time formats a moment in UTC to the minute.
func (l *Locale) Time(t time.Time) string {
	t = t.UTC()
	return l.Date(t) + ", " + t.Format("15:04") + " UTC"
}

func (l *Locale) date(pattern string, t time.Time) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "dd"):
			b.WriteString(t.Format("02"))
			i++
		case strings.HasPrefix(pattern[i:], "mm"):
			b.WriteString(t.Format("01"))
			i++
		case strings.HasPrefix(pattern[i:], "de"):
			b.WriteString("de")
			i++
		case c == 'd':
			b.WriteString(strconv.Itoa(t.Day()))
		case c == 'M':
			b.WriteString(l.dates.months[t.Month()-1])
		case c == 'm':
			b.WriteString(l.dates.short[t.Month()-1])
		case c == 'y':
			b.WriteString(strconv.Itoa(t.Year()))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Rate formats a price with two to six digits: as many as it has.
func (l *Locale) Rate(m money.Micro) string {
	scale, v := 6, int64(m)
	for scale > 2 && v%10 == 0 {
		v /= 10
		scale--
	}
	return l.fixed(v, scale)
}

// Typed is a price as a person of this language would type it: Rate without grouping, so that it can be read back.
func (l *Locale) Typed(m money.Micro) string {
	return strings.ReplaceAll(l.Rate(m), l.nums.group, "")
}

// Raw is a number for machines.
func (l *Locale) Raw(n int64) string { return strconv.FormatInt(n, 10) }
