package builtin_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gpunex/gpunex/internal/db/builtin"
)

const childDir = "GPUNEX_BUILTIN_CHILD"

// TestMain lets this program be a parent of a server that tests can kill.
func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	s, err := builtin.Start(context.Background(), config(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.PID())
	_, _ = io.Copy(io.Discard, os.Stdin) // until killed
}

func config(dir string) builtin.Config {
	return builtin.Config{DataDir: filepath.Join(dir, "pg"), RunDir: filepath.Dir(dir), Ephem: true, Params: map[string]string{"shared_buffers": "16MB"}}
}

// folder is a new one in memory, which PostgreSQL's user can reach.
func folder(t *testing.T) string {
	t.Helper()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = os.TempDir()
	}
	dir, err := os.MkdirTemp(base, "pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func ctx(t *testing.T) context.Context {
	c, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return c
}

func start(t *testing.T, cfg builtin.Config) *builtin.Server {
	t.Helper()
	s, err := builtin.Start(ctx(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func sql(t *testing.T, s *builtin.Server, statement string) (got int) {
	t.Helper()
	c, err := pgx.Connect(ctx(t), s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	rows, err := c.Query(ctx(t), statement)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = pgx.CollectOneRow(rows, pgx.RowTo[int]); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return got
}

// keep commits a row.
func keep(t *testing.T, s *builtin.Server) {
	t.Helper()
	c, err := pgx.Connect(ctx(t), s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if _, err := c.Exec(ctx(t), "CREATE TABLE kept AS SELECT 42 AS n"); err != nil {
		t.Fatal(err)
	}
}

func kept(t *testing.T, s *builtin.Server) {
	t.Helper()
	if got := sql(t, s, "SELECT n FROM kept"); got != 42 {
		t.Errorf("the committed row: got %d, want 42", got)
	}
}

func TestKilledServerIsNoticedAndLosesNothing(t *testing.T) {
	cfg := config(folder(t))
	cfg.Ephem = false // it would lose the last commits
	s := start(t, cfg)
	keep(t, s)
	// A backend that computes doesn't notice that its server is gone.
	busy, err := pgx.Connect(ctx(t), s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = busy.Exec(context.Background(), "SELECT count(*) FROM generate_series(1, 100000000000)")
	}()
	for deadline := time.Now().Add(5 * time.Second); sql(t, s, "SELECT count(*)::int FROM pg_stat_activity WHERE query LIKE '%generate_series(1%' AND state = 'active' AND pid <> pg_backend_pid()") == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the busy backend didn't start")
		}
	}
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Exited():
	case <-time.After(5 * time.Second):
		t.Fatal("nobody noticed that the server was killed")
	}
	kept(t, start(t, cfg))
}

// child starts a parent of a server, and returns it with what it prints.
func child(t *testing.T, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), childDir+"="+dir)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(out)
}

func TestServerEndsWithItsKilledParent(t *testing.T) {
	dir := folder(t)
	parent, out := child(t, dir)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatalf("the child's server didn't start: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	s := start(t, config(dir)) // waits for the one before
	if got := fmt.Sprint(s.PID()); got == strings.TrimSpace(line) {
		t.Error("the old server was taken for a new one")
	}
	keep(t, s)
	kept(t, s)
}

func TestKilledInitdbHeals(t *testing.T) {
	dir := folder(t)
	parent, _ := child(t, dir)
	fresh := filepath.Join(dir, "pg.new")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(fresh, "base")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("initdb didn't begin")
		}
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	if _, err := os.Stat(filepath.Join(dir, "pg", "PG_VERSION")); err == nil {
		t.Skip("initdb was done before it was killed")
	}
	s := start(t, config(dir))
	keep(t, s)
	kept(t, s)
	if _, err := os.Stat(fresh); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", fresh, err)
	}
}

func TestOtherVersionIsRefusedAndKept(t *testing.T) {
	cfg := config(folder(t))
	if err := os.Mkdir(cfg.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	sentinel := filepath.Join(cfg.DataDir, "sentinel")
	for name, text := range map[string]string{sentinel: "precious", filepath.Join(cfg.DataDir, "PG_VERSION"): "12\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := builtin.FindBin("", "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = builtin.Start(ctx(t), cfg)
	for _, want := range []string{"PostgreSQL 12", have, "postgresql-12", "pg_upgrade", "pg_dumpall", cfg.DataDir, "nothing was changed"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the refusal should say %q: %v", want, err)
		}
	}
	if b, err := os.ReadFile(sentinel); err != nil || string(b) != "precious" {
		t.Errorf("the sentinel: %q, %v", b, err)
	}
}

func TestFolderOfSomethingElseIsRefusedAndKept(t *testing.T) {
	cfg := config(folder(t))
	photo := filepath.Join(cfg.DataDir, "holiday.jpg")
	if err := os.Mkdir(cfg.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(photo, []byte("sea"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := builtin.Start(ctx(t), cfg); err == nil || !strings.Contains(err.Error(), "no PG_VERSION") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(photo); err != nil {
		t.Error(err)
	}
}

func TestStopIsClean(t *testing.T) {
	cfg := config(folder(t))
	s := start(t, cfg)
	keep(t, s)
	if err := s.Stop(ctx(t)); err != nil {
		t.Fatal(err)
	}
	bin, err := builtin.FindBin("", "")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(ctx(t), filepath.Join(bin, "pg_controldata"), cfg.DataDir).CombinedOutput()
	if err != nil || !slices.ContainsFunc(strings.Split(string(out), "\n"), func(l string) bool {
		return strings.HasPrefix(l, "Database cluster state:") && strings.HasSuffix(l, " shut down")
	}) {
		t.Errorf("not a clean end: %v\n%s", err, out)
	}
	if _, err := os.Stat(s.RunDir()); !os.IsNotExist(err) {
		t.Errorf("the socket's folder is still there: %v", err)
	}
	kept(t, start(t, cfg))
}

func TestRootIsDropped(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can drop root")
	}
	s := start(t, config(folder(t)))
	st, err := os.Stat(fmt.Sprintf("/proc/%d", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	if uid := st.Sys().(*syscall.Stat_t).Uid; uid == 0 {
		t.Error("the server runs as root")
	}
	st, err = os.Stat(s.RunDir())
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the socket's folder: %v, %v", st.Mode(), err)
	}
}

func TestFailedStartSaysWhatTheServerSaid(t *testing.T) {
	cfg := config(folder(t))
	cfg.Params = map[string]string{"shared_buffers": "many"}
	if _, err := builtin.Start(ctx(t), cfg); err == nil || !strings.Contains(err.Error(), `"shared_buffers": "many"`) {
		t.Errorf("got %v", err)
	}
}
