package agent

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gpunex/gpunex/internal/protocol"
)

// story writes what a host with four rentals goes through.
func story(t *testing.T, dir string) map[string]Record {
	t.Helper()
	j, err := OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	code := 7
	for _, err := range []error{
		j.Intend("a", noon), j.Started("a", noon), j.Intend("b", noon), j.Intend("c", noon), j.Started("c", noon),
		j.Stopping("c", noon), j.Ended(protocol.Status{Rental: "c", Phase: protocol.PhaseExited, ExitCode: &code}, noon),
		j.Ended(protocol.Status{Rental: "d", Phase: protocol.PhaseStopped}, noon), j.Forget("d", noon),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return j.Records()
}

func TestJournalOverRestarts(t *testing.T) {
	dir := t.TempDir()
	was := story(t, dir)
	for range 3 {
		j, err := OpenJournal(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := j.Records(); !reflect.DeepEqual(got, was) {
			t.Errorf("read %+v, want %+v", got, was)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A crash may cut the file after any byte: what was whole counts, the rest never happened.
func TestJournalCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	story(t, dir)
	whole, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := OpenJournal(dir)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		lines := strings.Count(string(whole[:cut]), "\n")
		if got := j.Record("a"); got.Intended != (lines >= 1) || got.Started != (lines >= 2) {
			t.Errorf("cut at %d, after line %d: %+v", cut, lines, got)
		}
		if err := j.Started("z", noon); err != nil {
			t.Fatal(err)
		}
		j.Close()
		again, err := OpenJournal(dir)
		if err != nil || !again.Record("z").Started {
			t.Fatalf("cut at %d: the next line was lost: %v", cut, err)
		}
		again.Close()
	}
}

func TestJournalSpoiledInside(t *testing.T) {
	dir := t.TempDir()
	text := `{"rental":"a","what":"intended"}` + "\nrubbish\n" + `{"rental":"a","what":"started"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(dir); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("opened with %v", err)
	}
}
