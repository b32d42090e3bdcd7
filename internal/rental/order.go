package rental

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gpunex/gpunex/internal/fault"
)

// The limits of an order: those of the host's guard.
const (
	maxEnv      = 64
	maxEnvBytes = 64 << 10
	maxArgs     = 64
	maxArgBytes = 4 << 10 // of the whole command
	maxImage    = 255
	maxKey      = 200
)

var (
	envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	// imageRef is what a host's guard takes for an image's name: what it would refuse isn't the host's fault.
	imageRef = regexp.MustCompile(`^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::[0-9]{1,5})?/)?` + // registry
		`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*` + // path
		`(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`)
	// imageID names an image that happens to be on a host, not one that can be pulled.
	imageID = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// check finds what is wrong with an order whatever the market says. Faults: key_required, image_required,
// image_invalid, command_long, env_many, env_invalid, env_forbidden, max_spend_invalid, max_hours_invalid.
func (o Order) check() error {
	invalid := func(code, text string, args ...string) error { return fault.New(fault.Invalid, code, text, args...) }
	if o.IdemKey == "" || len(o.IdemKey) > maxKey || !storable(o.IdemKey) {
		return invalid("key_required", "The request needs an idempotency key of 1 to {n} characters", "n", strconv.Itoa(maxKey))
	}
	if strings.TrimSpace(o.Image) == "" {
		return invalid("image_required", "Enter a container image")
	}
	if len(o.Image) > maxImage || !imageRef.MatchString(o.Image) || imageID.MatchString(o.Image) {
		return invalid("image_invalid", "This is not the name of a container image, as in docker.io/library/ubuntu:24.04")
	}
	size := 0
	for _, arg := range o.Command {
		size += len(arg)
		if !storable(arg) {
			return invalid("command_invalid", "The command holds characters that can't be passed on: use UTF-8 without zero bytes")
		}
	}
	if len(o.Command) > maxArgs || size > maxArgBytes {
		return invalid("command_long", "The command is too long: up to {n} arguments and {kib} KiB", "n", strconv.Itoa(maxArgs), "kib", strconv.Itoa(maxArgBytes>>10))
	}
	if err := checkEnv(o.Env); err != nil {
		return err
	}
	if o.MaxSpend < 0 {
		return invalid("max_spend_invalid", "Enter a maximum spend above zero")
	}
	if o.MaxDuration < 0 || o.MaxDuration > 0 && o.MaxDuration < time.Millisecond {
		return invalid("max_hours_invalid", "Enter a number of hours, as in 0.5 or 24")
	}
	return nil
}

func checkEnv(env map[string]string) error {
	size := 0
	for _, k := range slices.Sorted(maps.Keys(env)) {
		upper := strings.ToUpper(k)
		if strings.HasPrefix(upper, "NVIDIA_") || strings.HasPrefix(upper, "LD_") {
			return fault.New(fault.Invalid, "env_forbidden", "The environment variable {name} isn't allowed: the host sets those itself", "name", k)
		}
		if !envName.MatchString(k) || !storable(env[k]) {
			return fault.New(fault.Invalid, "env_invalid", "Write one NAME=value per line")
		}
		size += len(k) + len(env[k])
	}
	if len(env) > maxEnv || size > maxEnvBytes {
		return fault.New(fault.Invalid, "env_many", "The environment is too large: up to {n} variables and {kib} KiB", "n", strconv.Itoa(maxEnv), "kib", strconv.Itoa(maxEnvBytes>>10))
	}
	return nil
}

// storable says whether PostgreSQL and a process's arguments can hold s.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// hash tells an order from any other under the same key.
func (o Order) hash() ([]byte, error) {
	o.IdemKey = ""
	if len(o.Command) == 0 {
		o.Command = nil
	}
	if len(o.Env) == 0 {
		o.Env = nil
	}
	b, err := json.Marshal(o) // the keys of maps are sorted
	if err != nil {
		return nil, fmt.Errorf("rental: hash of an order: %w", err)
	}
	sum := sha256.Sum256(b)
	return sum[:], nil
}
