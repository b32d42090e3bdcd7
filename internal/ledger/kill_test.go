package ledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/db/builtin"
	"github.com/gpunex/gpunex/internal/ledger"
)

// TestKilledServerLosesNothing kills PostgreSQL with all its backends in the middle of postings, starts it anew, and
// finds every posting that was acknowledged, and none by half.
func TestKilledServerLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a PostgreSQL of its own, with fsync")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := serverDir(t)
	pg := startServer(ctx, t, dir)
	open := func() *db.DB {
		d, err := db.Open(ctx, pg.URL("postgres"), 10)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := open()
	if err := d.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	var acknowledged sync.Map
	for round := range 3 {
		kill := make(chan struct{})
		var once sync.Once
		var wg sync.WaitGroup
		b := books{ledger.New(d), d}
		for worker := range 8 {
			wg.Go(func() {
				for n := 0; ; n++ {
					key := fmt.Sprintf("%d-%d-%d", round, worker, n)
					if _, err := b.post(ctx, move(key, ledger.TestFunds(), ledger.Available(fmt.Sprint("acc_", n%5)), 1)); err != nil {
						return // the server is gone: this one wasn't acknowledged
					}
					acknowledged.Store(key, true)
					if n == 60 {
						once.Do(func() { close(kill) })
					}
				}
			})
		}
		select {
		case <-kill:
		case <-ctx.Done():
			t.Fatal("no load")
		}
		killServer(t, pg)
		wg.Wait()
		d.Close()
		pg = startServer(ctx, t, dir)
		d = open()
		if a, err := ledger.New(d).Audit(ctx); err != nil || !a.OK() {
			t.Fatalf("round %d: audit: %+v, %v", round, a, err)
		}
	}
	keys, err := db.Values[string](ctx, d, "SELECT key FROM ledger_txn")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, k := range keys {
		found[k] = true
	}
	n, missing := 0, 0
	acknowledged.Range(func(k, _ any) bool {
		n++
		if !found[k.(string)] {
			missing++
		}
		return true
	})
	if missing > 0 || n < 3*60 {
		t.Errorf("%d of %d acknowledged postings are missing", missing, n)
	}
	t.Logf("%d acknowledged, %d found", n, len(keys))
	d.Close()
	if err := pg.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// serverDir is a folder that the server's user can reach, unlike t.TempDir.
func serverDir(t *testing.T) string {
	t.Helper()
	base := "/var/tmp"
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		base = "/dev/shm"
	}
	dir, err := os.MkdirTemp(base, "gpunex-kill-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startServer tries again while the killed one still holds its shared memory.
func startServer(ctx context.Context, t *testing.T, dir string) *builtin.Server {
	t.Helper()
	for {
		pg, err := builtin.Start(ctx, builtin.Config{DataDir: filepath.Join(dir, "pg"), RunDir: dir,
			Params: map[string]string{"shared_buffers": "16MB", "timezone": "Asia/Kathmandu"}})
		if err == nil {
			return pg
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// killServer kills the postmaster and its backends, which are in sessions of their own.
func killServer(t *testing.T, pg *builtin.Server) {
	t.Helper()
	pids := []int{pg.PID()}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		_, after, ok := strings.Cut(string(b), ") ")
		if f := strings.Fields(after); ok && len(f) > 1 && f[1] == strconv.Itoa(pg.PID()) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-pg.Exited()
}
