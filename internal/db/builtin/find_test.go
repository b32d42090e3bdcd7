package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpunex/gpunex/internal/db/builtin"
)

// programs makes a folder whose postgres only tells its version.
func programs(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"postgres", "initdb"} {
		script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFindBin(t *testing.T) {
	for _, c := range []struct {
		version, major, says string // says: part of the refusal, or "" for found
	}{
		{"17.2 (Debian 17.2-1)", "", ""},
		{"17.2", "17", ""},
		{"18beta1", "18", ""},
		{"15devel", "", ""},
		{"17.2", "15", "apt-get install postgresql-15"},
		{"14.9", "", "15 is the oldest that will do"},
		{"", "", "apt-get install postgresql"},
		{"new", "", "postgres --version said"},
	} {
		dir := programs(t, c.version)
		got, err := builtin.FindBin(dir, c.major)
		if c.says == "" {
			if err != nil || got != dir {
				t.Errorf("%q for %q: got %q, %v", c.version, c.major, got, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q for %q: got %q, %v, want %q", c.version, c.major, got, err, c.says)
		}
	}
}

func TestMissingProgramsSayWhatToInstall(t *testing.T) {
	_, err := builtin.FindBin(t.TempDir(), "")
	if err == nil || !strings.Contains(err.Error(), "apt-get install postgresql") {
		t.Errorf("got %v", err)
	}
}
