package protocol

// BenchOrder asks for one benchmark run over all GPUs of the host at once.
type BenchOrder struct {
	Run    string `json:"run"`
	Seed   uint64 `json:"seed,string"` // random, from the platform
	Size   int    `json:"size"`        // n of the n × n matrices
	Rounds int    `json:"rounds"`      // products per GPU, each seeded by the digest of the one before
}

// BenchCommit binds the host to its products before it knows which rows will be opened.
type BenchCommit struct {
	Run   string      `json:"run"`
	Proof []GPUCommit `json:"proof"`
}

// GPUCommit holds one Merkle root per round, over the rows' fingerprints.
type GPUCommit struct {
	UUID  string   `json:"uuid"`
	Roots [][]byte `json:"roots"` // 32 bytes each
}

// BenchOpen says which round and which rows of each GPU the platform wants to see.
type BenchOpen struct {
	Refusal *Refusal `json:"refusal,omitempty"`
	Round   int      `json:"round"`
	Rows    []int    `json:"rows"`
}

// BenchResult ends a run: opened rows and figures of every GPU, figures of the host.
type BenchResult struct {
	Run  string      `json:"run"`
	GPUs []GPUResult `json:"gpus"`
	Host HostFigures `json:"host"`
	// Interrupted is set when a rental or a fault cut the run short; it costs no score.
	Interrupted string `json:"interrupted,omitempty"`
}

// GPUResult is what one GPU answered and measured.
type GPUResult struct {
	UUID   string      `json:"uuid"`
	Opened []OpenedRow `json:"opened"`
	// Figures by name, in the unit of gpu.Figure.
	Figures map[string]float64 `json:"figures"`
}

// OpenedRow is one row of a product with its path to the Merkle root.
type OpenedRow struct {
	Row  int      `json:"row"`
	C    []int32  `json:"c"`
	Path [][]byte `json:"path"` // siblings, leaf upwards
}

// HostFigures are the host's own figures.
type HostFigures struct {
	SeqReadMBs     float64 `json:"seq_read_mbs"`
	SeqWriteMBs    float64 `json:"seq_write_mbs"`
	RandReadIOPS   float64 `json:"rand_read_iops"`
	RandWriteIOPS  float64 `json:"rand_write_iops"`
	LatencyMS      float64 `json:"latency_ms"` // round trip to the platform
	ThroughputMbps float64 `json:"throughput_mbps"`
	Simulated      bool    `json:"simulated"`
}

// BenchReply closes the exchange.
type BenchReply struct {
	Refusal *Refusal `json:"refusal,omitempty"`
	Passed  bool     `json:"passed"`
}
