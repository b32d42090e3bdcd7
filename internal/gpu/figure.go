package gpu

// Figure names one measured property of a GPU.
type Figure string

// The figures.
const (
	FP32      Figure = "fp32"      // TFLOPS, plain FMA
	FP16      Figure = "fp16"      // TFLOPS, plain half-precision FMA
	Tensor    Figure = "tensor"    // TFLOPS, dense FP16 with FP32 accumulation
	Bandwidth Figure = "bandwidth" // GB/s of device memory
	VRAM      Figure = "vram"      // GiB that can be allocated
)

// Figures gives all figures in the order in which people read them.
func Figures() []Figure { return []Figure{Tensor, FP16, FP32, Bandwidth, VRAM} }

// Unit is the unit of the figure's values; it is empty for an unknown figure.
func (f Figure) Unit() string {
	switch f {
	case FP32, FP16, Tensor:
		return "TFLOPS"
	case Bandwidth:
		return "GB/s"
	case VRAM:
		return "GiB"
	}
	return ""
}

// Floors gives the smallest acceptable ratio of measured to expected; a GPU below one leaves the market.
func Floors() map[Figure]float64 {
	return map[Figure]float64{FP32: 0.80, FP16: 0.80, Tensor: 0.70, Bandwidth: 0.80, VRAM: 0.93}
}
