package agent

import (
	"context"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

// Runtime runs workloads. guard.Client and simruntime.Runtime are the two; workloadtest says what both must do.
type Runtime interface {
	// List tells every workload or fails: never a part.
	List(ctx context.Context) ([]workload.State, error)
	// Start pulls, creates and starts, and tells each phase. What runs or ran is left as it is.
	Start(ctx context.Context, s workload.Spec, progress func(protocol.Phase)) error
	// Stop ends a workload and keeps it listed.
	Stop(ctx context.Context, rental string) error
	// Remove ends a workload and forgets it; what isn't there is removed.
	Remove(ctx context.Context, rental string) error
	// Logs follows a workload's output until it has ended.
	Logs(ctx context.Context, rental string, from workload.Mark, each func(protocol.LogLine) error) error
}

// Link reaches the platform. uplink.Link is the real one; a simulator passes its platform directly.
type Link interface {
	Hello(ctx context.Context, m protocol.Hello) (protocol.HelloReply, error)
	Heartbeat(ctx context.Context, m protocol.Heartbeat) (protocol.HeartbeatReply, error)
	Desired(ctx context.Context, m protocol.DesiredRequest) (protocol.Desired, error)
	Log(ctx context.Context, m protocol.LogChunk) (protocol.LogReply, error)
	Commit(ctx context.Context, m protocol.BenchCommit) (protocol.BenchOpen, error)
	Result(ctx context.Context, m protocol.BenchResult) (protocol.BenchReply, error)
}
