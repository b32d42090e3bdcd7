package gpu

import (
	"slices"
	"strings"
)

// Model is one GPU model of the catalogue.
type Model struct {
	Key     string // stable, as in h100-sxm
	Name    string // for people, as in NVIDIA H100 SXM
	VRAMGiB int    // nominal
	// Expected holds what a healthy one measures. It belongs to the catalogue: read it only.
	Expected map[Figure]float64
	Source   string // where the expected figures come from
}

func expect(fp32, fp16, tensor, bandwidth, vram float64) map[Figure]float64 {
	return map[Figure]float64{FP32: fp32, FP16: fp16, Tensor: tensor, Bandwidth: bandwidth, VRAM: vram}
}

// models holds dense peak figures at boost clock. They are secondary sources: the floors leave room for that.
var models = []Model{
	{Key: "h100-sxm", Name: "NVIDIA H100 SXM", VRAMGiB: 80, Expected: expect(66.9, 133.8, 989.4, 3350, 80), Source: "glennklockwood.com/garden/processors/h100"},
	{Key: "h100-pcie", Name: "NVIDIA H100 PCIe", VRAMGiB: 80, Expected: expect(51.2, 102.4, 756, 2000, 80), Source: "hmc-tech.com"},
	{Key: "a100-40", Name: "NVIDIA A100 40GB", VRAMGiB: 40, Expected: expect(19.5, 78, 312, 1555, 40), Source: "hmc-tech.com"},
	{Key: "a100-80", Name: "NVIDIA A100 80GB", VRAMGiB: 80, Expected: expect(19.5, 78, 312, 1935, 80), Source: "hmc-tech.com; bandwidth of the PCIe card, the slower of the two"},
	{Key: "l40s", Name: "NVIDIA L40S", VRAMGiB: 48, Expected: expect(91.6, 91.6, 362, 864, 48), Source: "mullet.se datasheet table"},
	{Key: "l4", Name: "NVIDIA L4", VRAMGiB: 24, Expected: expect(30.3, 30.3, 121, 300, 24), Source: "fpsbench.com, halved where it gives sparse figures"},
	{Key: "rtx-4090", Name: "NVIDIA RTX 4090", VRAMGiB: 24, Expected: expect(82.6, 82.6, 165.2, 1008, 24), Source: "waredb.com"},
	{Key: "rtx-a6000", Name: "NVIDIA RTX A6000", VRAMGiB: 48, Expected: expect(38.7, 38.7, 154.8, 768, 48), Source: "llmperf.net, citing Microway"},
}

// Models gives the whole catalogue, fastest first.
func Models() []Model { return slices.Clone(models) }

// Find gives the model with this key.
func Find(key string) (Model, bool) {
	i := slices.IndexFunc(models, func(m Model) bool { return m.Key == key })
	if i < 0 {
		return Model{}, false
	}
	return models[i], true
}

// names says which words the driver may use for a model: the first is required, at least one of any when it isn't
// empty, and no word beside them. So a laptop's 4090, a 4090 D or a slice of an H100 is none of ours.
var names = []struct {
	key      string
	required string
	any      []string
	also     []string
}{
	{key: "h100-sxm", required: "H100", any: []string{"SXM", "SXM5", "HBM3"}, also: []string{"80GB"}},
	{key: "h100-pcie", required: "H100", any: []string{"PCIE"}, also: []string{"80GB"}},
	{key: "a100-40", required: "A100", also: []string{"SXM", "SXM4", "PCIE", "PG509", "40GB"}},
	{key: "a100-80", required: "A100", also: []string{"SXM", "SXM4", "PCIE", "80GB"}},
	{key: "l40s", required: "L40S"},
	{key: "l4", required: "L4"},
	{key: "rtx-4090", required: "4090", also: []string{"GEFORCE", "RTX"}},
	{key: "rtx-a6000", required: "A6000", also: []string{"RTX"}},
}

// Match finds the model that the driver's name (or a catalogue key) and the memory in MiB agree on. Memory far from
// nominal is no match: the name alone proves nothing.
func Match(nvmlName string, vramMiB int64) (Model, bool) {
	if m, ok := Find(nvmlName); ok {
		return m, plausible(m, vramMiB)
	}
	words := strings.FieldsFunc(strings.ToUpper(nvmlName), func(r rune) bool { return r == ' ' || r == '-' || r == '_' })
	words = slices.DeleteFunc(words, func(w string) bool { return w == "NVIDIA" })
	for _, n := range names {
		if !slices.Contains(words, n.required) {
			continue
		}
		some, strange := len(n.any) == 0, false
		for _, w := range words {
			one := slices.Contains(n.any, w)
			some = some || one
			strange = strange || !one && w != n.required && !slices.Contains(n.also, w)
		}
		if m, ok := Find(n.key); ok && some && !strange && plausible(m, vramMiB) {
			return m, true
		}
	}
	return Model{}, false
}

// plausible allows for what the driver and ECC keep for themselves, up to an eighth.
func plausible(m Model, vramMiB int64) bool {
	nominal := int64(m.VRAMGiB) << 10
	return vramMiB >= nominal*7/8 && vramMiB <= nominal*17/16
}
