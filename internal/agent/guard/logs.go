package guard

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

// Logs tells a workload's output line by line from a mark on, and follows it until the workload has ended.
func (e *Engine) Logs(ctx context.Context, rental string, from workload.Mark, each func(protocol.LogLine) error) error {
	c, err := e.find(ctx, rental)
	if err != nil {
		return err
	}
	opts := client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Timestamps: true, Follow: true, Tail: "all"}
	if !from.After.IsZero() {
		opts.Since = fmt.Sprintf("%d.%09d", from.After.Unix(), from.After.Nanosecond())
	}
	stream, err := e.docker.ContainerLogs(ctx, c.ID, opts)
	if err != nil {
		return e.fail("read logs", err)
	}
	defer stream.Close()
	return readLines(stream, from, each)
}

// maxFrame bounds one piece of an engine's log stream; engines cut at 16 KiB.
const maxFrame = 4 << 20

// readLines reads an engine's multiplexed stream: frames of one piece each, the engine's time before every piece, and
// a line that the engine cut in pieces in several frames.
func readLines(r io.Reader, from workload.Mark, each func(protocol.LogLine) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var seq int64
	if !from.After.IsZero() {
		seq = from.Next
	}
	pieces := map[byte]*strings.Builder{1: {}, 2: {}}
	for {
		var head [8]byte
		if _, err := io.ReadFull(br, head[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read logs: %w", err)
		}
		size := binary.BigEndian.Uint32(head[4:])
		if size > maxFrame {
			return fmt.Errorf("read logs: a piece of %d bytes", size)
		}
		frame := make([]byte, size)
		if _, err := io.ReadFull(br, frame); err != nil {
			return fmt.Errorf("read logs: %w", err)
		}
		line, known := pieces[head[0]]
		if !known {
			continue
		}
		stamp, text, _ := strings.Cut(string(frame), " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			return fmt.Errorf("read logs: a piece without a time: %w", err)
		}
		if !from.After.IsZero() && !at.After(from.After) {
			continue
		}
		whole := strings.HasSuffix(text, "\n")
		if line.Len() <= protocol.MaxLogText { // keep no more than can be sent
			line.WriteString(strings.TrimSuffix(text, "\n"))
		}
		if !whole {
			continue
		}
		l := protocol.LogLine{Seq: seq, At: at, Stream: streamName(head[0]), Text: workload.CutText(strings.ToValidUTF8(strings.TrimSuffix(line.String(), "\r"), "�"))}
		line.Reset()
		seq++
		if l.Seq < from.Next {
			continue
		}
		if err := each(l); err != nil {
			return err
		}
	}
}

func streamName(b byte) string {
	if b == 2 {
		return "stderr"
	}
	return "stdout"
}
