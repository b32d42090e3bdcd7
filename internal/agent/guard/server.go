package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

// maxBody bounds a request: a workload with a long environment fits, nothing larger is meant.
const maxBody = 64 << 10

// Config is all that a guard is told.
type Config struct {
	Socket     string // where to listen
	UID        int    // the only user who may ask
	Instance   string // name of this guard among those on one engine
	DockerHost string // the engine's address, empty for the usual one
	Policy     Policy
}

// Run serves the guard's socket until ctx ends. Containers run on.
func Run(ctx context.Context, c Config, log *slog.Logger) error {
	engine, err := NewEngine(c.DockerHost, c.Instance, c.Policy, log)
	if err != nil {
		return err
	}
	defer func() { _ = engine.Close() }()
	l, err := listen(c.Socket, c.UID)
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	server := &http.Server{
		Handler:           Handler(engine, log),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(peerListener{l, c.UID, log}) }()
	log.Info("guard_listens", "socket", c.Socket, "instance", c.Instance, "gpus", len(c.Policy.GPUs), "simulated", c.Policy.Simulated)
	select {
	case err := <-ended:
		return fmt.Errorf("guard: %w", err)
	case <-ctx.Done():
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer cancel()
		_ = server.Shutdown(grace) // what is left is cut off; every verb may be repeated
		return nil
	}
}

func listen(path string, uid int) (net.Listener, error) {
	if conn, err := net.Dial("unix", path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("another guard listens on %s", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	err = os.Chmod(path, 0o600)
	if err == nil && uid != os.Getuid() {
		err = os.Chown(path, uid, -1)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// peerListener lets in only one user's connections.
type peerListener struct {
	net.Listener
	uid int
	log *slog.Logger
}

func (p peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := peerUID(conn)
		if err == nil && uid == p.uid {
			return conn, nil
		}
		p.log.Warn("peer_refused", "uid", uid, "allowed_uid", p.uid, "error", err)
		conn.Close()
	}
}

func peerUID(conn net.Conn) (int, error) {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return -1, errors.New("not a Unix socket")
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return -1, err
	}
	uid := -1
	var asked error
	err = raw.Control(func(fd uintptr) {
		cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		if err != nil {
			asked = err
			return
		}
		uid = int(cred.Uid)
	})
	return uid, errors.Join(err, asked)
}

// Handler is the guard's whole vocabulary.
func Handler(e *Engine, log *slog.Logger) http.Handler {
	h := handler{e, log}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/workloads", h.list)
	mux.HandleFunc("POST /v1/workloads", h.start)
	mux.HandleFunc("POST /v1/workloads/{rental}/stop", h.stop)
	mux.HandleFunc("DELETE /v1/workloads/{rental}", h.remove)
	mux.HandleFunc("GET /v1/workloads/{rental}/logs", h.logs)
	mux.HandleFunc("GET /v1/info", h.info)
	return mux
}

type handler struct {
	engine *Engine
	log    *slog.Logger
}

// event is one line of the answer to a start: a phase that was reached, or how it failed.
type event struct {
	Phase protocol.Phase  `json:"phase,omitempty"`
	Error *workload.Error `json:"error,omitempty"`
	Away  bool            `json:"away,omitempty"`
}

func (h handler) list(w http.ResponseWriter, r *http.Request) {
	states, err := h.engine.List(r.Context())
	h.answer(w, r, states, err)
}

func (h handler) info(w http.ResponseWriter, r *http.Request) {
	info, err := h.engine.Info(r.Context())
	h.answer(w, r, info, err)
}

func (h handler) stop(w http.ResponseWriter, r *http.Request) {
	h.answer(w, r, struct{}{}, h.engine.Stop(context.WithoutCancel(r.Context()), r.PathValue("rental")))
}

func (h handler) remove(w http.ResponseWriter, r *http.Request) {
	// Not there is removed, but a container of somebody else is not found.
	if _, err := h.engine.find(r.Context(), r.PathValue("rental")); err != nil {
		h.answer(w, r, nil, err)
		return
	}
	h.answer(w, r, struct{}{}, h.engine.Remove(context.WithoutCancel(r.Context()), r.PathValue("rental")))
}

func (h handler) start(w http.ResponseWriter, r *http.Request) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	var spec workload.Spec
	err := d.Decode(&spec)
	if err == nil && d.More() {
		err = errors.New("more than one request in the body")
	}
	if err != nil {
		status := http.StatusBadRequest
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			status = http.StatusRequestEntityTooLarge
		}
		h.write(w, status, workload.Failf(protocol.FailRefused, "the request isn't one that this guard knows: %s", err))
		return
	}
	if _, refusal := Compose(spec, h.engine.policy, h.engine.site); refusal != nil {
		h.log.Warn("workload_refused", "rental", spec.Rental, "reason", refusal.Message)
		h.write(w, http.StatusForbidden, refusal)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	tell := func(ev event) {
		if err := json.NewEncoder(w).Encode(ev); err == nil {
			_ = http.NewResponseController(w).Flush()
		}
	}
	err = h.engine.Start(r.Context(), spec, func(p protocol.Phase) { tell(event{Phase: p}) })
	if err != nil {
		h.log.Warn("start_failed", "rental", spec.Rental, "error", err)
		tell(event{Error: asError(err), Away: errors.Is(err, workload.ErrAway) || r.Context().Err() != nil})
		return
	}
	tell(event{Phase: protocol.PhaseRunning})
}

func (h handler) logs(w http.ResponseWriter, r *http.Request) {
	var from workload.Mark
	var err error
	if s := r.URL.Query().Get("from"); s != "" {
		from.Next, err = strconv.ParseInt(s, 10, 64)
	}
	if s := r.URL.Query().Get("after"); s != "" && err == nil {
		from.After, err = time.Parse(time.RFC3339Nano, s)
	}
	if err != nil || from.Next < 0 {
		h.write(w, http.StatusBadRequest, workload.Failf(protocol.FailRefused, "from must be a line's number and after a time"))
		return
	}
	if _, err := h.engine.find(r.Context(), r.PathValue("rental")); err != nil {
		h.answer(w, r, nil, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	rc, enc := http.NewResponseController(w), json.NewEncoder(w)
	_ = rc.Flush()
	err = h.engine.Logs(r.Context(), r.PathValue("rental"), from, func(l protocol.LogLine) error {
		if err := enc.Encode(l); err != nil {
			return err
		}
		return rc.Flush()
	})
	if err != nil && r.Context().Err() == nil {
		h.log.Warn("logs_cut", "rental", r.PathValue("rental"), "error", err)
		panic(http.ErrAbortHandler) // a clean end would mean that the workload has ended
	}
}

func (h handler) answer(w http.ResponseWriter, r *http.Request, v any, err error) {
	switch {
	case err == nil:
		h.write(w, http.StatusOK, v)
	case errors.Is(err, workload.ErrUnknown):
		h.write(w, http.StatusNotFound, asError(err))
	case errors.Is(err, workload.ErrAway):
		h.log.Warn("engine_away", "path", r.URL.Path, "error", err)
		h.write(w, http.StatusServiceUnavailable, asError(err))
	default:
		h.log.Warn("engine_failed", "path", r.URL.Path, "error", err)
		h.write(w, http.StatusBadGateway, asError(err))
	}
}

func (h handler) write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the peer may have gone
}

func asError(err error) *workload.Error {
	var e *workload.Error
	if errors.As(err, &e) {
		return e
	}
	return &workload.Error{Code: protocol.FailEngine, Message: err.Error()}
}
