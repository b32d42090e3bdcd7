package web

import (
	"errors"
	"strings"
)

var errQuotes = errors.New("web: a quotation mark has no partner")

// words splits a command as a shell would, without expanding anything: single quotes keep everything, double quotes
// everything but a backslash before one of \ and ".
func words(s string) ([]string, error) {
	var list []string
	var b strings.Builder
	var quote rune
	in, escaped := false, false
	for _, r := range s {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, in = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				b.WriteRune(r)
			}
		case r == '"' || r == '\'':
			quote, in = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if in {
				list = append(list, b.String())
				b.Reset()
				in = false
			}
		default:
			b.WriteRune(r)
			in = true
		}
	}
	if quote != 0 || escaped {
		return nil, errQuotes
	}
	if in {
		list = append(list, b.String())
	}
	return list, nil
}

var errEnv = errors.New("web: not NAME=value")

// environment reads one NAME=value per line; empty lines are ignored.
func environment(s string) (map[string]string, error) {
	env := map[string]string{}
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, errEnv
		}
		env[name] = value
	}
	return env, nil
}
