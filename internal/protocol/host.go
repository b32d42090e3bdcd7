package protocol

import "time"

// Hardware is what a host has, as its agent sees it.
type Hardware struct {
	// Simulated says that the GPUs exist only in a profile file. It is shown to people wherever the GPUs are.
	Simulated bool   `json:"simulated"`
	GPUs      []GPU  `json:"gpus"`
	CPUs      int    `json:"cpus"` // logical processors
	RAMMiB    int64  `json:"ram_mib"`
	DiskMiB   int64  `json:"disk_mib"` // free under the container engine's root
	Driver    string `json:"driver"`   // NVIDIA driver version, empty without one
	CUDA      string `json:"cuda"`     // newest CUDA that the driver supports, as in "12.4"
	// Runtime is what runs containers: "docker", or "simulated" where no engine is.
	Runtime        string   `json:"runtime"`
	RuntimeVersion string   `json:"runtime_version"`
	Isolation      []string `json:"isolation"` // "runc", "gvisor"; strongest last
	Kernel         string   `json:"kernel"`
}

// GPU is one physical device.
type GPU struct {
	UUID    string `json:"uuid"`
	Model   string `json:"model"` // catalogue key where known, else the driver's name for it
	VRAMMiB int64  `json:"vram_mib"`
	PCIBus  string `json:"pci_bus"`
	PowerW  int    `json:"power_w"` // power limit
	ECC     bool   `json:"ecc"`
	MIG     bool   `json:"mig"`
	// Fault is empty for a device that answers, else what the driver said of it.
	Fault string `json:"fault,omitempty"`
}

// Hello is the first message after each connection.
type Hello struct {
	Protocol     int       `json:"protocol"`
	AgentVersion string    `json:"agent_version"`
	HostTime     time.Time `json:"host_time"`
	Hardware     Hardware  `json:"hardware"`
}

// HelloReply accepts the host, or says why not.
type HelloReply struct {
	Refusal    *Refusal `json:"refusal,omitempty"`
	IntervalMS int64    `json:"interval_ms"` // between heartbeats; the agent adds jitter of up to a tenth
	Revision   int64    `json:"revision"`
}

// Heartbeat says that the host lives, what runs on it and how its GPUs do. It carries all workloads that the host
// knows of: absence is information.
type Heartbeat struct {
	// HostTime is when it was sent, by the host's clock. It orders heartbeats: one that isn't newer than another that
	// has come since the last hello is answered and otherwise ignored.
	HostTime time.Time `json:"host_time"`
	Applied  int64     `json:"applied"` // newest revision of the desired state that the host has acted on
	// Complete is false while the host can't see its containers (the guard or the engine is away). Then Workloads says
	// nothing about what is missing from it.
	Complete  bool        `json:"complete"`
	Workloads []Status    `json:"workloads"`
	GPUs      []Telemetry `json:"gpus"`
}

// Telemetry is one GPU at one moment.
type Telemetry struct {
	UUID         string  `json:"uuid"`
	Utilisation  float64 `json:"utilisation"` // 0 to 1
	MemoryMiB    int64   `json:"memory_mib"`  // used
	TemperatureC float64 `json:"temperature_c"`
	PowerW       float64 `json:"power_w"`
}

// HeartbeatReply tells the host how often to beat and which revision it should have.
type HeartbeatReply struct {
	IntervalMS int64 `json:"interval_ms"`
	Revision   int64 `json:"revision"`
	// Hello asks the host to introduce itself again: the platform doesn't know its hardware, or the host's clock seems to
	// have been set back.
	Hello bool `json:"hello"`
}
