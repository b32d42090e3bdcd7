package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/gpunex/gpunex/internal/db"
)

// Task is one thing that happens by the clock.
type Task struct {
	Name  string
	Every time.Duration
	// Run does one pass for what is due at now.
	Run func(ctx context.Context, now time.Time) error
}

// passArgs is the job of one pass.
type passArgs struct {
	Task string `json:"task" river:"unique"`
}

func (passArgs) Kind() string { return "pass" }

type passWorker struct {
	river.WorkerDefaults[passArgs]
	tasks map[string]Task
	log   *slog.Logger
}

func (w *passWorker) Work(ctx context.Context, j *river.Job[passArgs]) error {
	t, ok := w.tasks[j.Args.Task]
	if !ok {
		return river.JobCancel(fmt.Errorf("worker: no task %q in this build", j.Args.Task))
	}
	if err := t.Run(ctx, time.Now()); err != nil {
		if ctx.Err() == nil {
			w.log.Error("a pass failed and will be tried again", "task", t.Name, "error", err)
		}
		return err
	}
	return nil
}

// Timeout bounds one pass: what hangs is given up and tried again.
func (*passWorker) Timeout(*river.Job[passArgs]) time.Duration { return time.Minute }

// NextRetry tries a failed pass again soon: the next one is due anyway.
func (*passWorker) NextRetry(*river.Job[passArgs]) time.Time { return time.Now().Add(time.Second) }

// Run runs the tasks until ctx ends, then waits for those under way.
func Run(ctx context.Context, d *db.DB, tasks []Task, log *slog.Logger) error {
	w := &passWorker{tasks: map[string]Task{}, log: log}
	var periodic []*river.PeriodicJob
	for _, t := range tasks {
		w.tasks[t.Name] = t
		periodic = append(periodic, river.NewPeriodicJob(river.PeriodicInterval(t.Every), func() (river.JobArgs, *river.InsertOpts) {
			return passArgs{Task: t.Name}, &river.InsertOpts{MaxAttempts: 5, UniqueOpts: river.UniqueOpts{ByArgs: true, ByPeriod: t.Every}}
		}, &river.PeriodicJobOpts{ID: t.Name, RunOnStart: true}))
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, w)
	c, err := river.NewClient(riverpgxv5.New(d.Pool), &river.Config{
		Queues:                      map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 16}},
		FetchCooldown:               20 * time.Millisecond,
		FetchPollInterval:           250 * time.Millisecond,
		CompletedJobRetentionPeriod: 10 * time.Minute,
		Workers:                     workers,
		PeriodicJobs:                periodic,
		Logger:                      slog.New(levelAtLeast{log.Handler(), slog.LevelWarn}),
	})
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	if err := c.Start(ctx); err != nil {
		return fmt.Errorf("worker: start: %w", err)
	}
	<-ctx.Done()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return c.Stop(stop)
}

// levelAtLeast quiets a library that speaks too much.
type levelAtLeast struct {
	slog.Handler
	min slog.Level
}

func (h levelAtLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.min && h.Handler.Enabled(ctx, l)
}

func (h levelAtLeast) WithAttrs(a []slog.Attr) slog.Handler {
	return levelAtLeast{h.Handler.WithAttrs(a), h.min}
}

func (h levelAtLeast) WithGroup(name string) slog.Handler {
	return levelAtLeast{h.Handler.WithGroup(name), h.min}
}
