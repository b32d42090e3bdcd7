package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gpunex/gpunex/internal/protocol"
)

// Record is what the journal knows of one rental.
type Record struct {
	Intended  bool // a start was about to be asked for
	Started   bool // it ran
	StartedAt time.Time
	Stopping  bool             // a stop was about to be asked for
	Ended     *protocol.Status // how it ended; kept until the platform drops the rental
}

// entry is one line of the file: one thing that happened.
type entry struct {
	At     time.Time        `json:"at"`
	Rental string           `json:"rental"`
	What   string           `json:"what"`
	Status *protocol.Status `json:"status,omitempty"`
}

const (
	wasIntended  = "intended"
	wasStarted   = "started"
	wasStopping  = "stopping"
	wasEnded     = "ended"
	wasForgotten = "forgotten"
)

// Journal remembers over crashes what containers can't tell. Each line is on the disk before the deed that it is about.
type Journal struct {
	mu      sync.Mutex
	file    *os.File // nil: kept in memory only
	records map[string]Record
}

// OpenJournal reads the journal in dir and goes on with it; an empty dir keeps it in memory. A last line that a crash
// cut short never happened; anything else that can't be read is an error, because guessing could start a workload twice.
func OpenJournal(dir string) (*Journal, error) {
	j := &Journal{records: map[string]Record{}}
	if dir == "" {
		return j, nil
	}
	path := filepath.Join(dir, "journal.jsonl")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := j.replay(old); err != nil {
		return nil, fmt.Errorf("journal %s: %w; move the file away to go on: running workloads are adopted, ended ones are reported as lost", path, err)
	}
	if err := j.rewrite(path); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return j, nil
}

func (j *Journal) replay(old []byte) error {
	r := bufio.NewReader(bytes.NewReader(old))
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // what is left has no end: a crash cut it
		}
		if err != nil {
			return err
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		j.apply(e)
	}
}

// rewrite replaces the file by the shortest one that says the same.
func (j *Journal) rewrite(path string) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := json.NewEncoder(f)
	for _, rental := range slices.Sorted(maps.Keys(j.records)) {
		for _, e := range j.records[rental].entries(rental) {
			if err := w.Encode(e); err != nil {
				return errors.Join(err, f.Close())
			}
		}
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := os.Rename(path+".new", path); err != nil {
		return errors.Join(err, f.Close())
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return errors.Join(err, f.Close())
	}
	defer func() { _ = dir.Close() }()
	j.file = f // it stays open at its end
	return dir.Sync()
}

func (r Record) entries(rental string) []entry {
	var es []entry
	if r.Intended {
		es = append(es, entry{Rental: rental, What: wasIntended, At: r.StartedAt})
	}
	if r.Started {
		es = append(es, entry{Rental: rental, What: wasStarted, At: r.StartedAt})
	}
	if r.Stopping {
		es = append(es, entry{Rental: rental, What: wasStopping})
	}
	if r.Ended != nil {
		es = append(es, entry{Rental: rental, What: wasEnded, Status: r.Ended})
	}
	return es
}

func (j *Journal) apply(e entry) {
	r := j.records[e.Rental]
	switch e.What {
	case wasIntended:
		r.Intended = true
	case wasStarted:
		r.Started, r.StartedAt = true, e.At
	case wasStopping:
		r.Stopping = true
	case wasEnded:
		r.Ended = e.Status
	case wasForgotten:
		delete(j.records, e.Rental)
		return
	}
	j.records[e.Rental] = r
}

func (j *Journal) write(e entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != nil {
		b, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		if _, err := j.file.Write(append(b, '\n')); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		if err := j.file.Sync(); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	j.apply(e)
	return nil
}

// Intend is written before a start is asked for.
func (j *Journal) Intend(rental string, at time.Time) error {
	return j.write(entry{At: at, Rental: rental, What: wasIntended})
}

// Started is written when a workload runs; at is when it started.
func (j *Journal) Started(rental string, at time.Time) error {
	return j.write(entry{At: at, Rental: rental, What: wasStarted})
}

// Stopping is written before a stop is asked for.
func (j *Journal) Stopping(rental string, at time.Time) error {
	return j.write(entry{At: at, Rental: rental, What: wasStopping})
}

// Ended is written when a workload has ended for good.
func (j *Journal) Ended(s protocol.Status, at time.Time) error {
	return j.write(entry{At: at, Rental: s.Rental, What: wasEnded, Status: &s})
}

// Forget is written when the platform no longer asks about a rental.
func (j *Journal) Forget(rental string, at time.Time) error {
	return j.write(entry{At: at, Rental: rental, What: wasForgotten})
}

// Records is a copy of all that the journal knows.
func (j *Journal) Records() map[string]Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.records)
}

// Record is what the journal knows of one rental.
func (j *Journal) Record(rental string) Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.records[rental]
}

// Close closes the file.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}
