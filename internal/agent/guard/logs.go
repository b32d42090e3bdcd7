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
		since := from.After.Add(-disorder)
		opts.Since = fmt.Sprintf("%d.%09d", since.Unix(), since.Nanosecond())
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
	number := numbering{from: from, found: from.After.IsZero(), each: each}
	if !number.found {
		number.next = from.Next
	}
	pieces := map[byte]*strings.Builder{1: {}, 2: {}}
	for {
		var head [8]byte
		if _, err := io.ReadFull(br, head[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return number.flush()
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
		whole := strings.HasSuffix(text, "\n")
		if line.Len() <= protocol.MaxLogText { // keep no more than can be sent
			line.WriteString(strings.TrimSuffix(text, "\n"))
		}
		if !whole {
			continue
		}
		l := protocol.LogLine{At: at, Stream: streamName(head[0]), Text: workload.CutText(strings.ToValidUTF8(strings.TrimSuffix(line.String(), "\r"), "�"))}
		line.Reset()
		if err := number.take(l); err != nil {
			return err
		}
	}
}

// disorder is how far apart the times of neighbouring lines may be the wrong way round: an engine stamps each stream by
// itself.
const disorder = time.Second

// numbering counts lines from a mark on. A mark with a time is a line: what follows it in the stream is new, whatever
// its time, and what stands before it has been told. When the engine has thrown that line away, the lines that are
// younger than it are new.
type numbering struct {
	from  workload.Mark
	found bool
	next  int64
	held  []protocol.LogLine // younger than the mark, which may still come
	each  func(protocol.LogLine) error
}

func (n *numbering) take(l protocol.LogLine) error {
	switch {
	case n.found:
		return n.tell(l)
	case l.At.Equal(n.from.After):
		n.found, n.held = true, nil
		return nil
	case l.At.Before(n.from.After):
		return nil
	}
	n.held = append(n.held, l)
	if l.At.Sub(n.from.After) <= disorder {
		return nil
	}
	return n.flush()
}

// flush tells what was held: the mark is gone.
func (n *numbering) flush() error {
	n.found = true
	for _, l := range n.held {
		if err := n.tell(l); err != nil {
			return err
		}
	}
	n.held = nil
	return nil
}

func (n *numbering) tell(l protocol.LogLine) error {
	l.Seq = n.next
	n.next++
	if l.Seq < n.from.Next {
		return nil
	}
	return n.each(l)
}

func streamName(b byte) string {
	if b == 2 {
		return "stderr"
	}
	return "stdout"
}
