package uplink

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/gpunex/gpunex/internal/protocol"
)

// state is what a host keeps to be itself after a restart.
type state struct{ dir string }

// kept is the credential file.
type kept struct {
	protocol.Credential
	Obtained time.Time `json:"obtained"`
}

// key reads the host's key, or makes it. It is on the disk before anybody hears of it: a platform that enrolled this
// host and whose answer was lost is asked again with the same key.
func (s state) key() (nkeys.KeyPair, error) {
	path := filepath.Join(s.dir, "host.nk")
	seed, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return nil, fmt.Errorf("make the host's key: %w", err)
		}
		if seed, err = pair.Seed(); err != nil {
			return nil, fmt.Errorf("make the host's key: %w", err)
		}
		return pair, write(path, seed)
	}
	if err != nil {
		return nil, fmt.Errorf("read the host's key: %w", err)
	}
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return nil, fmt.Errorf("read the host's key %s: %w", path, err)
	}
	return pair, nil
}

// credential reads the credential; none yet is not an error.
func (s state) credential() (kept, bool, error) {
	var k kept
	b, err := os.ReadFile(filepath.Join(s.dir, "credential.json"))
	if errors.Is(err, os.ErrNotExist) {
		return k, false, nil
	}
	if err != nil {
		return k, false, fmt.Errorf("read the host's credential: %w", err)
	}
	if err := json.Unmarshal(b, &k); err != nil {
		return k, false, fmt.Errorf("read the host's credential: %w", err)
	}
	return k, true, nil
}

func (s state) keep(k kept) error {
	b, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("keep the host's credential: %w", err)
	}
	return write(filepath.Join(s.dir, "credential.json"), b)
}

// write replaces a file that only its owner may read, whole or not at all.
func write(path string, b []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(path+".new", path)
}
