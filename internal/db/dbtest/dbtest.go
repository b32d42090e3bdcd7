// Package dbtest gives each test a migrated database of its own, on a real PostgreSQL.
//
// The first test of a process starts a private server in memory (fsync off, an odd time zone) and migrates a template;
// each test then copies the template, which takes tens of milliseconds.
package dbtest

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
)

// server is shared by the tests of one process: it ends with the process.
var server struct {
	once sync.Once
	pg   *builtin.Server
	err  error
	mu   sync.Mutex
	n    int
}

// New gives a migrated database that is dropped when the test ends.
func New(t testing.TB) *db.DB {
	t.Helper()
	d, _ := NewURL(t)
	return d
}

// NewURL is New, with the database's URL.
func NewURL(t testing.TB) (*db.DB, string) {
	t.Helper()
	server.once.Do(start)
	if server.err != nil {
		t.Fatalf("dbtest: %v", server.err)
	}
	ctx := context.Background()
	server.mu.Lock()
	server.n++
	name := "t" + strconv.Itoa(server.n)
	err := admin(ctx, "CREATE DATABASE "+name+" TEMPLATE template_gpunex STRATEGY file_copy")
	server.mu.Unlock()
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	url := server.pg.URL(name)
	d, err := db.Open(ctx, url, 16)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(func() {
		d.Close()
		if err := admin(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("dbtest: %v", err)
		}
	})
	return d, url
}

func start() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server.err = func() error {
		base := os.TempDir()
		if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
			base = "/dev/shm"
		}
		sweep(base)
		dir := filepath.Join(base, prefix+strconv.Itoa(os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		pg, err := builtin.Start(ctx, builtin.Config{DataDir: filepath.Join(dir, "pg"), RunDir: base, Ephem: true,
			Params: map[string]string{"timezone": "Asia/Kathmandu", "shared_buffers": "64MB", "max_connections": "300"}})
		if err != nil {
			return err
		}
		server.pg = pg
		if err := admin(ctx, "CREATE DATABASE template_gpunex"); err != nil {
			return err
		}
		d, err := db.Open(ctx, pg.URL("template_gpunex"), 4)
		if err != nil {
			return err
		}
		defer d.Close()
		return d.Migrate(ctx)
	}()
}

func admin(ctx context.Context, sql string) error {
	d, err := db.Open(ctx, server.pg.URL("postgres"), 1)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := d.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

const prefix = "gpunex-dbtest-"

// sweep removes what test processes that no longer live have left.
func sweep(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, prefix+"*"))
	for _, d := range dirs {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(d), prefix))
		if err == nil && syscall.Kill(pid, 0) != nil {
			_ = os.RemoveAll(d)
		}
	}
}
