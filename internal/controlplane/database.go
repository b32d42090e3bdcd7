package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gpunex/gpunex/internal/db/builtin"
)

// database is the built-in PostgreSQL, kept alive: when its server dies, however, it is started again on the same data,
// and the pool's next connections find it.
type database struct {
	cfg  builtin.Config
	pg   *builtin.Server
	lock *os.File
	log  *slog.Logger
}

func startDatabase(ctx context.Context, dataDir string, log *slog.Logger) (*database, error) {
	lock, err := lockDataDir(dataDir)
	if err != nil {
		return nil, err
	}
	d := &database{lock: lock, cfg: builtin.Config{DataDir: filepath.Join(dataDir, "postgres"), Log: log}, log: log}
	start, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	pg, err := builtin.Start(start, d.cfg)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("built-in PostgreSQL: %w", err), lock.Close())
	}
	d.pg = pg
	if err := saveURL(dataDir, d.url()); err != nil {
		return nil, errors.Join(err, d.stop())
	}
	return d, nil
}

func (d *database) url() string { return d.pg.URL("postgres") }

// run keeps the server alive until ctx ends, and stops it then.
func (d *database) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return d.stop()
		case <-d.pg.Exited():
		}
		if ctx.Err() != nil {
			return nil
		}
		d.log.Error("the built-in PostgreSQL died; starting it again")
		start, cancel := context.WithTimeout(ctx, time.Minute)
		pg, err := builtin.Start(start, d.cfg)
		cancel()
		if err != nil {
			return fmt.Errorf("built-in PostgreSQL died and can't be started again: %w", err)
		}
		d.pg = pg
		d.log.Info("the built-in PostgreSQL is back")
	}
}

func (d *database) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(d.pg.Stop(ctx), d.lock.Close())
}
