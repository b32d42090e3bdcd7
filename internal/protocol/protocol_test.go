package protocol_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/gpunex/gpunex/internal/protocol"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	at      = time.Date(2026, 12, 7, 9, 0, 0, 123456789, time.UTC)
	code    = 137
	root    = bytes.Repeat([]byte{7}, 32)
	refusal = &protocol.Refusal{Code: "clock_off", Text: "The host's clock is off by 5m0s"}
	order   = &protocol.BenchOrder{Run: "bmk_1", Seed: 1<<64 - 1, Size: 256, Rounds: 4}
)

// messages holds one full example of every message, by the name of its golden file.
var messages = map[string]any{
	"enrol_request": &protocol.EnrolRequest{Protocol: 1, AgentVersion: "1.0.0", Token: "gpx_0", PublicKey: "UABC", Hostname: "rack-1", HostTime: at},
	"renew_request": &protocol.RenewRequest{Protocol: 1, Host: "hst_1", HostTime: at, Signature: []byte{1, 2, 3}},
	"credential":    &protocol.Credential{Host: "hst_1", JWT: "eyJ", BusURL: "nats://127.0.0.1:4222", Expires: at},
	"refusal":       refusal,
	"hello": &protocol.Hello{Protocol: 1, AgentVersion: "1.0.0", HostTime: at, Hardware: protocol.Hardware{Simulated: true,
		GPUs: []protocol.GPU{{UUID: "GPU-1", Model: "l40s", VRAMMiB: 46068, PCIBus: "00000000:01:00.0", PowerW: 350, ECC: true, MIG: true, Fault: "lost"}},
		CPUs: 64, RAMMiB: 262144, DiskMiB: 1 << 20, Driver: "550.1", CUDA: "12.4", Runtime: "docker", RuntimeVersion: "29.1", Isolation: []string{"runc", "gvisor"}, Kernel: "6.18"}},
	"hello_reply":   &protocol.HelloReply{IntervalMS: 10000, Revision: 7},
	"hello_refused": &protocol.HelloReply{Refusal: refusal, IntervalMS: 10000},
	"heartbeat": &protocol.Heartbeat{HostTime: at, Applied: 7, Complete: true,
		Workloads: []protocol.Status{{Rental: "rnt_1", Phase: protocol.PhaseExited, Code: protocol.FailEngine, Message: "m", ExitCode: &code, StartedAt: &at, FinishedAt: &at}, {Rental: "rnt_2", Phase: protocol.PhasePulling}},
		GPUs:      []protocol.Telemetry{{UUID: "GPU-1", Utilisation: 0.97, MemoryMiB: 40000, TemperatureC: 61.5, PowerW: 341.2}}},
	"heartbeat_reply": &protocol.HeartbeatReply{IntervalMS: 10000, Revision: 8, Hello: true},
	"desired_request": &protocol.DesiredRequest{Have: 7},
	"desired": &protocol.Desired{Revision: 8, Bench: order, Workloads: []protocol.Workload{{Rental: "rnt_1", Want: protocol.WantRunning, Image: "debian:12", Command: []string{"sh", "-c", "true"},
		Env: map[string]string{"A": "b"}, GPUs: []string{"GPU-1"}, CPUs: 8.5, RAMMiB: 65536, DiskMiB: 102400}, {Rental: "rnt_2", Want: protocol.WantStopped}}},
	"log_chunk":     &protocol.LogChunk{Rental: "rnt_1", Lines: []protocol.LogLine{{Seq: 0, At: at, Stream: "stdout", Text: "olá <&>"}}},
	"log_reply":     &protocol.LogReply{Next: -1},
	"bench_order":   order,
	"bench_commit":  &protocol.BenchCommit{Run: "bmk_1", Proof: []protocol.GPUCommit{{UUID: "GPU-1", Roots: [][]byte{root, root}}}},
	"bench_open":    &protocol.BenchOpen{Round: 1, Rows: []int{3, 250}},
	"bench_refused": &protocol.BenchOpen{Refusal: refusal},
	"bench_result": &protocol.BenchResult{Run: "bmk_1", Host: protocol.HostFigures{SeqReadMBs: 3000, SeqWriteMBs: 2000, RandReadIOPS: 300000, RandWriteIOPS: 200000, LatencyMS: 12.5, ThroughputMbps: 940, Simulated: true},
		GPUs: []protocol.GPUResult{{UUID: "GPU-1", Opened: []protocol.OpenedRow{{Row: 3, C: []int32{-1, 2}, Path: [][]byte{root}}}, Figures: map[string]float64{"fp32": 91.6, "tensor": 362}}}},
	"bench_interrupted": &protocol.BenchResult{Run: "bmk_1", Interrupted: "a rental began"},
	"bench_reply":       &protocol.BenchReply{Passed: true},
}

// The wire doesn't change by accident: a change here is a new protocol version, or a field that old agents may miss.
func TestGolden(t *testing.T) {
	for name, m := range messages {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(m, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, append(got, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(bytes.TrimSpace(want), got) {
				t.Errorf("the wire changed:\n%s\nwant\n%s", got, want)
			}
			back := reflect.New(reflect.TypeOf(m).Elem()).Interface()
			if err := json.Unmarshal(want, back); err != nil || !reflect.DeepEqual(back, m) {
				t.Errorf("decodes to %+v (%v)", back, err)
			}
		})
	}
}

func TestEveryFileIsAMessage(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != len(messages) {
		t.Errorf("%d files for %d messages (%v)", len(files), len(messages), err)
	}
}

// An agent of tomorrow may say more; one that says less is read all the same.
func TestUnknownAndMissingFieldsAreFine(t *testing.T) {
	var h protocol.Heartbeat
	if err := json.Unmarshal([]byte(`{"applied": 3, "fans": [1, 2]}`), &h); err != nil || h.Applied != 3 || h.Complete {
		t.Errorf("%+v %v", h, err)
	}
}

func TestSubjects(t *testing.T) {
	for got, want := range map[string]string{
		protocol.HelloSubject("h"): "a.h.hello", protocol.HeartbeatSubject("h"): "a.h.hb", protocol.DesiredSubject("h"): "a.h.desired",
		protocol.LogSubject("h"): "a.h.log", protocol.CommitSubject("h"): "a.h.bench.commit", protocol.ResultSubject("h"): "a.h.bench.result",
		protocol.HintSubject("h"): "c.h.desired",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestRenewPayload(t *testing.T) {
	zone := time.FixedZone("", 5*3600+45*60)
	if a, b := protocol.RenewPayload("h", at), protocol.RenewPayload("h", at.In(zone)); !bytes.Equal(a, b) || string(a) != "gpunex-renew\nh\n2026-12-07T09:00:00.123456789Z" {
		t.Errorf("%q %q", a, b)
	}
}

func TestFinalPhases(t *testing.T) {
	for p, want := range map[protocol.Phase]bool{protocol.PhasePulling: false, protocol.PhaseCreating: false, protocol.PhaseRunning: false,
		protocol.PhaseExited: true, protocol.PhaseStopped: true, protocol.PhaseFailed: true, protocol.PhaseLost: true} {
		if p.Final() != want {
			t.Errorf("%s final: %v", p, !want)
		}
	}
}

// FuzzDecode finds messages whose decoded form doesn't survive another round.
func FuzzDecode(f *testing.F) {
	for _, m := range messages {
		b, err := json.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"hardware":{"gpus":[{"vram_mib":-9223372036854775808}],"cpus":1e3}}`))
	f.Add([]byte(`{"roots":[null],"rows":[1,null],"c":[2147483648]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, m := range messages {
			kind := reflect.TypeOf(m).Elem()
			one := reflect.New(kind).Interface()
			if json.Unmarshal(data, one) != nil {
				continue
			}
			b, err := json.Marshal(one)
			if err != nil {
				continue // a year that no clock shows
			}
			two := reflect.New(kind).Interface()
			if err := json.Unmarshal(b, two); err != nil {
				t.Fatalf("%s: its own encoding can't be read: %v\n%s", name, err, b)
			}
			again, err := json.Marshal(two)
			if err != nil || !bytes.Equal(b, again) {
				t.Fatalf("%s: %s becomes %s (%v)", name, b, again, err)
			}
		}
	})
}
