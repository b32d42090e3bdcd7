package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpunex/gpunex/internal/protocol"
)

func TestMistakesAreSentences(t *testing.T) {
	refusal := protocol.Refusal{Code: "token_unknown", Text: "This enrolment token isn't known; make a new one."}
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(refusal)
	}))
	defer platform.Close()
	state := t.TempDir()
	spoilt := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(spoilt, []byte(`{"gpus":["*"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GPUNEX_TOKEN", "")
	for _, c := range []struct {
		token string
		args  string
		want  string
	}{
		{"", "", "a command is missing"},
		{"", "dance", `no command "dance"`},
		{"", "agent --simulate l4x1", "give --platform"},
		{"", "agent --platform " + platform.URL, "--simulate FILE"},
		{"", "agent --platform " + platform.URL + " --simulate h999x1", "models are"},
		{"", "agent --platform " + platform.URL + " --simulate l4x1 --runtime podman", "docker or simulated"},
		{"", "agent --runtime simulated --simulate l4x1 --state " + state + " --platform " + platform.URL, "GPUNEX_TOKEN"},
		{"tok_x", "agent --runtime simulated --simulate l4x1 --state " + state + " --platform " + platform.URL, refusal.Text},
		{"tok_x", "agent --runtime simulated --simulate l4x1 --state " + state + " --platform http://127.0.0.1:1", "can't be reached"},
		{"", "guard --policy /nowhere.json", "policy"},
		{"", "guard --policy " + spoilt, "max_cpus must be above 0"},
		{"", "policy", "--simulate is missing"},
	} {
		t.Setenv("GPUNEX_TOKEN", c.token)
		var out bytes.Buffer
		err := run(context.Background(), strings.Fields(c.args), &out)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q gave %v, want %q", c.args, err, c.want)
		}
		if c.token != "" && strings.Contains(out.String()+err.Error(), c.token) {
			t.Errorf("%q tells the token", c.args)
		}
	}
}

func TestOneAgentForEachState(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(dir); err == nil || !strings.Contains(err.Error(), "another agent") {
		t.Errorf("a second agent got %v", err)
	}
	unlock()
	again, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
