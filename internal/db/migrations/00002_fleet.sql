-- +goose Up
-- Enrolment, hosts, GPUs, presence, benchmarks, prices.

CREATE TABLE enrolment_token (
  id          text PRIMARY KEY,
  provider_id text NOT NULL REFERENCES provider,
  hash        bytea NOT NULL UNIQUE, -- SHA-256 of the token
  hint        text NOT NULL,         -- its last characters, to tell tokens apart
  created_at  timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL,
  revoked_at  timestamptz,
  max_hosts   int NOT NULL CHECK (max_hosts > 0),
  used        int NOT NULL DEFAULT 0 CHECK (used >= 0),
  CHECK (used <= max_hosts)
);

CREATE TABLE host (
  id               text PRIMARY KEY,
  provider_id      text NOT NULL REFERENCES provider,
  token_id         text NOT NULL REFERENCES enrolment_token,
  name             text NOT NULL,
  public_key       text NOT NULL UNIQUE,
  agent_version    text NOT NULL,
  protocol         int NOT NULL,
  hardware         jsonb, -- protocol.Hardware of the newest hello; null before the first
  simulated        boolean NOT NULL DEFAULT false,
  city             text NOT NULL,
  country          text NOT NULL,
  region           text NOT NULL,
  desired_revision bigint NOT NULL DEFAULT 1,
  applied_revision bigint NOT NULL DEFAULT 0,
  hello_at         timestamptz,
  last_seen        timestamptz,
  online           boolean NOT NULL DEFAULT false, -- from last_seen, by the sweep
  enrolled_at      timestamptz NOT NULL,
  retired_at       timestamptz
);
CREATE INDEX host_provider ON host (provider_id);
CREATE INDEX host_online ON host (last_seen) WHERE online;

CREATE TABLE gpu (
  id          text PRIMARY KEY,
  host_id     text NOT NULL REFERENCES host,
  uuid        text NOT NULL UNIQUE,
  position    int NOT NULL,
  model       text NOT NULL, -- catalogue key, or the driver's name for it
  vram_mib    bigint NOT NULL CHECK (vram_mib > 0 AND vram_mib < 16777216),
  detail      jsonb NOT NULL, -- protocol.GPU
  present     boolean NOT NULL,
  fault       text NOT NULL DEFAULT '',       -- what the driver said of it
  quarantine  text NOT NULL DEFAULT '',       -- why the platform doesn't list it, by an operator or a failed proof
  telemetry   jsonb,                          -- protocol.Telemetry, newest
  first_seen  timestamptz NOT NULL
);
CREATE INDEX gpu_host ON gpu (host_id);

CREATE TABLE host_presence (
  host_id text NOT NULL REFERENCES host,
  during  tstzrange NOT NULL,
  EXCLUDE USING gist (host_id WITH =, during WITH &&)
);
-- The open interval of a host that is online.
CREATE UNIQUE INDEX host_presence_open ON host_presence (host_id) WHERE upper_inf(during);

CREATE TABLE benchmark_run (
  id           text PRIMARY KEY,
  host_id      text NOT NULL REFERENCES host,
  reason       text NOT NULL, -- connected, scheduled, hardware_changed, requested
  state        text NOT NULL CHECK (state IN ('requested', 'running', 'passed', 'failed', 'interrupted', 'inconclusive')),
  seed         bigint NOT NULL,
  size         int NOT NULL,
  rounds       int NOT NULL,
  requested_at timestamptz NOT NULL,
  committed_at timestamptz,
  commitment   jsonb, -- []protocol.GPUCommit
  open_round   int,
  open_rows    int[],
  finished_at  timestamptz,
  host_figures jsonb, -- protocol.HostFigures
  simulated    boolean NOT NULL DEFAULT false,
  detail       text NOT NULL DEFAULT ''
);
-- One run a host at a time.
CREATE UNIQUE INDEX benchmark_run_open ON benchmark_run (host_id) WHERE state IN ('requested', 'running');
CREATE INDEX benchmark_run_of ON benchmark_run (host_id, requested_at);

CREATE TABLE benchmark_result (
  run_id   text NOT NULL REFERENCES benchmark_run,
  gpu_id   text NOT NULL REFERENCES gpu,
  figures  jsonb NOT NULL, -- name → measured, unit of gpu.Figure
  score    int NOT NULL,   -- 1000 = a healthy H100 SXM; 0 when unrated
  health   double precision NOT NULL, -- smallest measured ÷ expected
  passed   boolean NOT NULL,
  proof_ok boolean NOT NULL,
  failures jsonb NOT NULL, -- []benchmark.Failure
  at       timestamptz NOT NULL,
  PRIMARY KEY (run_id, gpu_id)
);
CREATE INDEX benchmark_result_gpu ON benchmark_result (gpu_id, at DESC);

CREATE TABLE price (
  provider_id text NOT NULL REFERENCES provider,
  model       text NOT NULL,
  micro       bigint NOT NULL CHECK (micro > 0 AND micro <= 1000000000000), -- micro-USDC per GPU-hour
  set_at      timestamptz NOT NULL,
  PRIMARY KEY (provider_id, model)
);
CREATE TABLE price_change (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider_id text NOT NULL,
  model       text NOT NULL,
  micro       bigint NOT NULL,
  at          timestamptz NOT NULL,
  person_id   text NOT NULL
);
