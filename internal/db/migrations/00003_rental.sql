-- +goose Up
-- Quotes, rentals, claims, logs.

CREATE TABLE quote (
  id          text PRIMARY KEY,
  customer_id text NOT NULL REFERENCES account,
  host_id     text NOT NULL REFERENCES host,
  model       text NOT NULL,
  gpus        int NOT NULL CHECK (gpus > 0),
  micro       bigint NOT NULL CHECK (micro > 0), -- micro-USDC per GPU-hour
  fee_bps     int NOT NULL CHECK (fee_bps BETWEEN 0 AND 10000),
  created_at  timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL
);

CREATE TABLE rental (
  id              text PRIMARY KEY,
  customer_id     text NOT NULL REFERENCES account,
  person_id       text NOT NULL REFERENCES person,
  provider_id     text NOT NULL REFERENCES provider,
  host_id         text NOT NULL REFERENCES host,
  quote_id        text NOT NULL UNIQUE REFERENCES quote,
  idem_key        text NOT NULL,
  request_hash    bytea NOT NULL,
  model           text NOT NULL,
  gpus            int NOT NULL CHECK (gpus > 0),
  micro           bigint NOT NULL CHECK (micro > 0),
  fee_bps         int NOT NULL CHECK (fee_bps BETWEEN 0 AND 10000),
  image           text NOT NULL,
  command         text[] NOT NULL,
  env             jsonb NOT NULL,
  max_spend       bigint CHECK (max_spend > 0),
  max_ms          bigint CHECK (max_ms > 0),
  simulated       boolean NOT NULL,
  state           text NOT NULL CHECK (state IN ('starting', 'running', 'stopping', 'ended')),
  phase           text NOT NULL DEFAULT '', -- newest protocol.Phase
  message         text NOT NULL DEFAULT '', -- the host's words for it
  exit_code       int,
  requested_at    timestamptz NOT NULL,
  running_at      timestamptz, -- platform's clock
  stop_reason     text,        -- why it is stopping
  stop_at         timestamptz, -- when stopping began
  ended_at        timestamptz,
  end_reason      text CHECK (end_reason IN ('stopped_by_customer', 'completed', 'workload_failed', 'funds_exhausted', 'maximum_reached', 'window_ended',
                                             'provider_stopped', 'host_offline', 'gpu_fault', 'host_fault', 'image_cannot_start', 'platform_fault')),
  attributed      text CHECK (attributed IN ('customer', 'provider', 'platform', 'nobody')),
  -- Metering: billed_ms is the time that the host was seen running it, up to metered_at.
  metered_at      timestamptz,
  billed_ms       bigint NOT NULL DEFAULT 0 CHECK (billed_ms >= 0),
  charged         bigint NOT NULL DEFAULT 0 CHECK (charged >= 0), -- settled into the ledger, cumulative
  fee             bigint NOT NULL DEFAULT 0 CHECK (fee >= 0),
  settlements     int NOT NULL DEFAULT 0,
  settled_at      timestamptz,
  settled_ms      bigint NOT NULL DEFAULT 0 CHECK (settled_ms >= 0 AND settled_ms <= billed_ms),
  holds           int NOT NULL DEFAULT 0, -- postings to the hold
  warned_at       timestamptz,
  -- A workload that a host doesn't name is gone only if the host has heard of it and goes on not naming it.
  wanted_revision bigint NOT NULL DEFAULT 0, -- of the host's desired state, when what is wanted of this rental changed last
  missing_since   timestamptz,
  CHECK (fee <= charged),
  CHECK ((state = 'ended') = (end_reason IS NOT NULL AND ended_at IS NOT NULL AND attributed IS NOT NULL)),
  CHECK ((state = 'stopping') <= (stop_reason IS NOT NULL)),
  UNIQUE (customer_id, idem_key)
);
CREATE INDEX rental_open ON rental (host_id) WHERE state <> 'ended';
CREATE INDEX rental_customer ON rental (customer_id, requested_at DESC);
CREATE INDEX rental_provider ON rental (provider_id, requested_at DESC);

-- A GPU can't be let twice: the database itself forbids two claims on one GPU whose times overlap.
CREATE TABLE claim (
  rental_id text NOT NULL REFERENCES rental,
  gpu_id    text NOT NULL REFERENCES gpu,
  during    tstzrange NOT NULL,
  PRIMARY KEY (rental_id, gpu_id),
  CONSTRAINT gpu_let_once EXCLUDE USING gist (gpu_id WITH =, during WITH &&)
);
CREATE INDEX claim_open ON claim (gpu_id) WHERE upper_inf(during);

CREATE TABLE rental_event (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  rental_id text NOT NULL REFERENCES rental,
  at        timestamptz NOT NULL,
  state     text NOT NULL,
  detail    text NOT NULL
);
CREATE INDEX rental_event_of ON rental_event (rental_id, id);

CREATE TABLE rental_log (
  rental_id text NOT NULL REFERENCES rental,
  seq       bigint NOT NULL,
  at        timestamptz NOT NULL, -- host's clock
  stream    text NOT NULL,
  text      text NOT NULL,
  PRIMARY KEY (rental_id, seq)
);

-- One row a settlement: what was posted, and when it becomes payable.
CREATE TABLE settlement (
  rental_id   text NOT NULL REFERENCES rental,
  n           int NOT NULL,
  provider_id text NOT NULL REFERENCES provider,
  from_ms     bigint NOT NULL,
  to_ms       bigint NOT NULL CHECK (to_ms > from_ms),
  charge      bigint NOT NULL CHECK (charge >= 0),
  fee         bigint NOT NULL CHECK (fee >= 0 AND fee <= charge),
  earned      bigint NOT NULL CHECK (earned = charge - fee),
  at          timestamptz NOT NULL,
  matured_at  timestamptz,
  PRIMARY KEY (rental_id, n)
);
CREATE INDEX settlement_due ON settlement (at) WHERE matured_at IS NULL;
CREATE INDEX settlement_provider ON settlement (provider_id, at);
