package dbtest_test

import (
	"testing"

	"github.com/gpunex/gpunex/internal/db"
	"github.com/gpunex/gpunex/internal/db/dbtest"
)

func TestEachTestHasItsOwnMigratedDatabase(t *testing.T) {
	a, b := dbtest.New(t), dbtest.New(t)
	if _, err := a.Exec(t.Context(), "INSERT INTO account (id, name, created_at) VALUES ('acc_1', 'A', '2026-01-01')"); err != nil {
		t.Fatal(err)
	}
	for d, want := range map[*db.DB]int{a: 1, b: 0} {
		n, err := db.Value[int](t.Context(), d, "SELECT count(*) FROM account")
		if err != nil || n != want {
			t.Errorf("accounts: got %d, %v; want %d", n, err, want)
		}
	}
}
