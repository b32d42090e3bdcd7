package hardware

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gpunex/gpunex/internal/protocol"
)

// Simulated is the driver of a profile's GPUs.
type Simulated struct {
	profile Profile
	now     func() time.Time
}

// NewSimulated makes the driver of a profile that Load has completed.
func NewSimulated(p Profile, now func() time.Time) *Simulated {
	return &Simulated{profile: p, now: now}
}

// Profile is what the driver simulates.
func (s *Simulated) Profile() Profile { return s.profile }

// UUIDs are the GPUs' identifiers, the same in every process for the same profile's name.
func (s *Simulated) UUIDs() []string {
	ids := make([]string, s.profile.Count)
	for i := range ids {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", s.profile.Name, s.profile.Model, i))
		h := hex.EncodeToString(sum[:])
		ids[i] = strings.Join([]string{"GPU-sim", h[:8], h[8:12], h[12:16], h[16:28]}, "-")
	}
	return ids
}

// Detect lists the profile's GPUs.
func (s *Simulated) Detect(context.Context) ([]protocol.GPU, string, string, error) {
	var gpus []protocol.GPU
	for i, id := range s.UUIDs() {
		g := protocol.GPU{
			UUID: id, Model: s.profile.Model, VRAMMiB: s.profile.VRAMMiB,
			PCIBus: fmt.Sprintf("00000000:%02X:00.0", 0x10+i), PowerW: s.profile.PowerW, ECC: true,
		}
		if slices.Contains(s.profile.Faults.Lost, i) {
			g.Fault = "GPU is lost (Xid 79)"
		}
		gpus = append(gpus, g)
	}
	return gpus, s.profile.Driver, s.profile.CUDA, nil
}

// Sample makes up what idle GPUs would show: a slow wave, so that graphs have something to draw.
func (s *Simulated) Sample(context.Context) ([]protocol.Telemetry, error) {
	var ts []protocol.Telemetry
	for i, id := range s.UUIDs() {
		if slices.Contains(s.profile.Faults.Lost, i) {
			continue
		}
		wave := (1 + math.Sin(float64(s.now().Unix()%600)/600*2*math.Pi+float64(i))) / 2
		ts = append(ts, protocol.Telemetry{
			UUID: id, Utilisation: math.Round(wave*100) / 100,
			MemoryMiB:    int64(float64(s.profile.VRAMMiB) * wave / 2),
			TemperatureC: math.Round(35 + 30*wave), PowerW: math.Round(float64(s.profile.PowerW) * (0.2 + 0.7*wave)),
		})
	}
	return ts, nil
}

// Measure gives a GPU's figures as the profile has them.
func (s *Simulated) Measure(_ context.Context, uuid string) (map[string]float64, error) {
	if !slices.Contains(s.UUIDs(), uuid) {
		return nil, fmt.Errorf("simulated driver: no GPU %s", uuid)
	}
	return s.profile.Figures, nil
}

// MeasureHost gives the host's own figures as the profile has them.
func (s *Simulated) MeasureHost(context.Context) (protocol.HostFigures, error) {
	f := s.profile.Host
	return protocol.HostFigures{
		SeqReadMBs: f.SeqReadMBs, SeqWriteMBs: f.SeqWriteMBs, RandReadIOPS: f.RandReadIOPS, RandWriteIOPS: f.RandWriteIOPS,
		LatencyMS: f.LatencyMS, ThroughputMbps: f.ThroughputMbps, Simulated: true,
	}, nil
}

// Forges says whether a GPU answers benchmarks with a wrong product.
func (s *Simulated) Forges(uuid string) bool {
	i := slices.Index(s.UUIDs(), uuid)
	return i >= 0 && slices.Contains(s.profile.Faults.Forge, i)
}
