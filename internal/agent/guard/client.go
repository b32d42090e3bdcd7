package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gpunex/gpunex/internal/agent/workload"
	"github.com/gpunex/gpunex/internal/protocol"
)

// Client asks a guard over its socket. It is the agent's runtime.
type Client struct {
	http *http.Client
}

// NewClient makes a Client. The guard may be away and come back.
func NewClient(socket string) *Client {
	var d net.Dialer
	return &Client{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", socket)
		},
		MaxIdleConns: 4, IdleConnTimeout: time.Minute,
	}}}
}

// quick bounds the verbs that only look.
const quick = 20 * time.Second

// List tells all workloads, or fails.
func (c *Client) List(ctx context.Context) ([]workload.State, error) {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	var states []workload.State
	err := c.call(ctx, http.MethodGet, "/v1/workloads", &states)
	return states, err
}

// Info tells what the guard's engine runs on.
func (c *Client) Info(ctx context.Context) (workload.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	var info workload.Info
	err := c.call(ctx, http.MethodGet, "/v1/info", &info)
	return info, err
}

// Stop ends a workload and keeps its container.
func (c *Client) Stop(ctx context.Context, rental string) error {
	return c.call(ctx, http.MethodPost, "/v1/workloads/"+url.PathEscape(rental)+"/stop", nil)
}

// Remove ends a workload and removes its container. One that isn't there is removed.
func (c *Client) Remove(ctx context.Context, rental string) error {
	err := c.call(ctx, http.MethodDelete, "/v1/workloads/"+url.PathEscape(rental), nil)
	if errors.Is(err, workload.ErrUnknown) {
		return nil
	}
	return err
}

// Start makes a workload run; progress hears of each phase on the way.
func (c *Client) Start(ctx context.Context, s workload.Spec, progress func(protocol.Phase)) error {
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	resp, err := c.do(ctx, http.MethodPost, "/v1/workloads", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var ev event
		if err := d.Decode(&ev); err != nil {
			return fmt.Errorf("%w: the guard broke off: %w", workload.ErrAway, err)
		}
		switch {
		case ev.Away:
			return fmt.Errorf("%w: %w", workload.ErrAway, ev.Error)
		case ev.Error != nil:
			return ev.Error
		case ev.Phase == protocol.PhaseRunning:
			return nil
		}
		progress(ev.Phase)
	}
}

// Logs follows a workload's output until it has ended.
func (c *Client) Logs(ctx context.Context, rental string, from workload.Mark, each func(protocol.LogLine) error) error {
	q := url.Values{"from": {strconv.FormatInt(from.Next, 10)}}
	if !from.After.IsZero() {
		q.Set("after", from.After.Format(time.RFC3339Nano))
	}
	resp, err := c.do(ctx, http.MethodGet, "/v1/workloads/"+url.PathEscape(rental)+"/logs?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var l protocol.LogLine
		err := d.Decode(&l)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: the guard broke off: %w", workload.ErrAway, err)
		}
		if err := each(l); err != nil {
			return err
		}
	}
}

func (c *Client) call(ctx context.Context, method, path string, into any) error {
	resp, err := c.do(ctx, method, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("%w: the guard's answer: %w", workload.ErrAway, err)
	}
	return nil
}

// do sends one request and sorts the refusals.
func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://guard"+path, body)
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: the guard gives no answer: %w", workload.ErrAway, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	refusal := &workload.Error{Code: protocol.FailEngine, Message: resp.Status}
	_ = json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(refusal) // the status stands where there is no body
	switch resp.StatusCode {
	case http.StatusNotFound:
		return nil, fmt.Errorf("guard: %w", workload.ErrUnknown)
	case http.StatusServiceUnavailable:
		return nil, fmt.Errorf("%w: %w", workload.ErrAway, refusal)
	default:
		return nil, refusal
	}
}
