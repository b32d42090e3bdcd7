package protocol

import "time"

// EnrolPath and RenewPath are where the agent posts EnrolRequest and RenewRequest over HTTP.
const (
	EnrolPath = "/agent/enrol"
	RenewPath = "/agent/renew"
)

// EnrolRequest exchanges an enrolment token for a credential. The key pair is made on the host: only its public half
// is sent.
type EnrolRequest struct {
	Protocol     int       `json:"protocol"`
	AgentVersion string    `json:"agent_version"`
	Token        string    `json:"token"`
	PublicKey    string    `json:"public_key"` // nkey, user
	Hostname     string    `json:"hostname"`
	HostTime     time.Time `json:"host_time"`
}

// RenewRequest asks for a fresh credential before the old one expires.
type RenewRequest struct {
	Protocol  int       `json:"protocol"`
	Host      string    `json:"host"`
	HostTime  time.Time `json:"host_time"`
	Signature []byte    `json:"signature"` // by the host's key, over RenewPayload
}

// RenewPayload is what a RenewRequest's signature covers.
func RenewPayload(host string, at time.Time) []byte {
	return []byte("gpunex-renew\n" + host + "\n" + at.UTC().Format(time.RFC3339Nano))
}

// Credential lets a host connect to the bus until it expires.
type Credential struct {
	Host    string    `json:"host"`
	JWT     string    `json:"jwt"`
	BusURL  string    `json:"bus_url"` // nats:// or wss://
	Expires time.Time `json:"expires"`
}

// Refusal is the body of a refused enrolment or hello: what is wrong and what to do about it, for a person at the host.
type Refusal struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

func (r *Refusal) Error() string { return r.Text }
