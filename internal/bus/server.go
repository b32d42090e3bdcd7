package bus

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
)

// accountsDir holds the accounts that the embedded server knows, with revoked keys, across restarts.
const accountsDir = "bus-accounts"

// embed starts the server of the data directory.
func embed(k *keys, dir, listen string) (*server.Server, error) {
	host, port, err := splitListen(listen)
	if err != nil {
		return nil, err
	}
	accounts, err := openAccounts(k, filepath.Join(dir, accountsDir))
	if err != nil {
		return nil, err
	}
	token, err := k.operatorJWT()
	if err != nil {
		return nil, fmt.Errorf("bus: operator: %w", err)
	}
	operator, err := jwt.DecodeOperatorClaims(token)
	if err != nil {
		return nil, fmt.Errorf("bus: operator: %w", err)
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "gpunexd", Host: host, Port: port, NoSigs: true, NoLog: true,
		TrustedOperators: []*jwt.OperatorClaims{operator}, SystemAccount: k.system.public, AccountResolver: accounts,
		MaxPayload: maxPayload, MaxPending: 4 * maxPayload, MaxConn: 100_000, MaxControlLine: 4096,
		// A reconnecting fleet needs patience: thousands prove themselves at once.
		AuthTimeout: 20, PingInterval: 20 * time.Second, MaxPingsOut: 2, WriteDeadline: 5 * time.Second,
	})
	if err != nil {
		accounts.Close()
		return nil, fmt.Errorf("bus: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		s.Shutdown()
		return nil, fmt.Errorf("bus: can't listen on %s: is the address in use?", listen)
	}
	return s, nil
}

func splitListen(listen string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(listen)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("bus: address %q: write it as 127.0.0.1:4222", listen)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	if host == "" {
		host = "0.0.0.0"
	}
	return host, port, nil
}

// openAccounts opens the accounts' directory and brings both accounts up to this build, keeping revoked keys.
func openAccounts(k *keys, dir string) (*server.DirAccResolver, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("bus: accounts: %w", err)
	}
	r, err := server.NewDirAccResolver(dir, 16, time.Minute, server.NoDelete)
	if err != nil {
		return nil, fmt.Errorf("bus: accounts: %w", err)
	}
	err = func() error {
		var revoked jwt.RevocationList
		if old, err := r.LoadAcc(k.hosts.public); err == nil {
			c, err := jwt.DecodeAccountClaims(old)
			if err != nil {
				return err
			}
			revoked = c.Revocations
		}
		sys, err := k.systemJWT()
		hosts, err2 := k.hostsJWT(revoked)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		return errors.Join(r.Store(k.system.public, sys), r.Store(k.hosts.public, hosts))
	}()
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("bus: accounts: %w", err)
	}
	return r, nil
}

// clusterConfig is what a NATS cluster elsewhere needs in its configuration to serve this platform.
func clusterConfig(k *keys) (string, error) {
	op, err := k.operatorJWT()
	sys, err2 := k.systemJWT()
	hosts, err3 := k.hostsJWT(nil)
	if err := errors.Join(err, err2, err3); err != nil {
		return "", fmt.Errorf("bus: cluster configuration: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# What a NATS server or cluster needs to serve this platform: include it in each server's configuration.\n")
	fmt.Fprintf(&b, "operator: %s\nsystem_account: %s\n", op, k.system.public)
	fmt.Fprintf(&b, "max_payload: %d\nmax_pending: %d\n", maxPayload, 4*maxPayload)
	fmt.Fprintf(&b, "resolver: {type: full, dir: \"accounts\", allow_delete: false}\n")
	fmt.Fprintf(&b, "resolver_preload: {\n  %s: %s\n  %s: %s\n}\n", k.system.public, sys, k.hosts.public, hosts)
	return b.String(), nil
}
