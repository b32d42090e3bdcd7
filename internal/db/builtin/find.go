package builtin

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// oldest is the first major version that the platform's SQL runs on.
const oldest = 15

// places is where distributions put server programs.
var places = []string{
	"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
	"/usr/pgsql-*/bin",          // PostgreSQL's own packages for Red Hat
	"/usr/local/pgsql/bin",      // built from source
}

// found is a folder with server programs.
type found struct {
	dir   string
	major int
}

// FindBin finds the folder with postgres and initdb: in explicit alone when it is given, else on the PATH and where
// distributions put it. With major, as in "15", only that version will do; without, the newest is taken.
func FindBin(explicit, major string) (string, error) {
	dirs := []string{explicit}
	if explicit == "" {
		dirs = candidates()
	}
	var usable []found
	var why []string
	for _, dir := range dirs {
		if !exists(filepath.Join(dir, "postgres")) || !exists(filepath.Join(dir, "initdb")) {
			if explicit != "" {
				why = append(why, dir+" lacks postgres or initdb")
			}
			continue
		}
		n, err := majorOf(dir)
		switch {
		case err != nil:
			why = append(why, fmt.Sprintf("%s: %v", dir, err))
		case n < oldest:
			why = append(why, fmt.Sprintf("%s has version %d, and %d is the oldest that will do", dir, n, oldest))
		default:
			usable = append(usable, found{dir, n})
		}
	}
	if major != "" {
		return ofVersion(usable, major, why)
	}
	if len(usable) == 0 {
		return "", missing("PostgreSQL's server programs aren't on this machine: apt-get install postgresql", why)
	}
	return slices.MaxFunc(usable, func(a, b found) int { return cmp.Compare(a.major, b.major) }).dir, nil
}

// ofVersion picks the one version that can read existing data.
func ofVersion(usable []found, major string, why []string) (string, error) {
	var have []string
	for _, f := range usable {
		if strconv.Itoa(f.major) == major {
			return f.dir, nil
		}
		have = append(have, fmt.Sprintf("%d in %s", f.major, f.dir))
	}
	if len(have) == 0 {
		return "", missing(fmt.Sprintf("it was made by PostgreSQL %[1]s, whose server programs aren't on this machine; "+
			"nothing was changed: apt-get install postgresql-%[1]s", major), why)
	}
	return "", fmt.Errorf("it was made by PostgreSQL %[1]s, and this machine has %[2]s; nothing was changed. "+
		"Install version %[1]s beside it (apt-get install postgresql-%[1]s). Or move the data to the new version: "+
		"with both installed, pg_upgrade; or pg_dumpall from a running %[1]s, then psql into a new data directory",
		major, strings.Join(have, ", "))
}

func missing(text string, why []string) error {
	if len(why) > 0 {
		text += " (" + strings.Join(why, "; ") + ")"
	}
	return errors.New(text)
}

func candidates() (dirs []string) {
	if p, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(p); err == nil { // it finds its own files beside its real path
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	for _, pattern := range places {
		more, _ := filepath.Glob(pattern) // fails only on a bad pattern
		dirs = append(dirs, more...)
	}
	return dirs
}

// majorOf asks the program itself: "postgres (PostgreSQL) 15.18 (Debian …)".
func majorOf(dir string) (int, error) {
	cmd := exec.Command(filepath.Join(dir, "postgres"), "--version") //nolint:gosec,noctx // a server program of this machine; it answers at once
	if lib := libDir(dir); lib != "" {
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+lib)
	}
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("postgres --version: %w", err)
	}
	words := strings.Fields(string(out))
	if len(words) < 3 {
		return 0, fmt.Errorf("postgres --version said %q", out)
	}
	digits := words[2]
	if i := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = digits[:i]
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0, fmt.Errorf("postgres --version said %q", out)
	}
	return n, nil
}

// libDir is the folder of libraries that a relocated bundle brings along, or "".
func libDir(binDir string) string {
	if lib := filepath.Join(filepath.Dir(binDir), "lib"); exists(filepath.Join(lib, "libpq.so.5")) {
		return lib
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
