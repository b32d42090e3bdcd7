-- +goose Up
-- People, accounts, sessions, notices, applications.
-- No table has a default that reads the clock: the time of everything is an argument.
CREATE EXTENSION IF NOT EXISTS btree_gist;

CREATE TABLE person (
  id            text PRIMARY KEY,
  email         text NOT NULL CHECK (email = lower(email)),
  name          text NOT NULL,
  password_hash text NOT NULL,
  locale        text NOT NULL CHECK (locale IN ('en', 'pt-PT', 'fr', 'de')),
  created_at    timestamptz NOT NULL
);
CREATE UNIQUE INDEX person_email ON person (email);

CREATE TABLE account (
  id         text PRIMARY KEY,
  name       text NOT NULL,
  operator   boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL
);

CREATE TABLE membership (
  account_id text NOT NULL REFERENCES account,
  person_id  text NOT NULL REFERENCES person,
  role       text NOT NULL CHECK (role IN ('owner', 'admin', 'billing', 'member', 'viewer')),
  created_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, person_id)
);
CREATE INDEX membership_person ON membership (person_id);

CREATE TABLE session (
  token  text PRIMARY KEY, -- hashed by the session library
  data   bytea NOT NULL,
  expiry timestamptz NOT NULL
);
CREATE INDEX session_expiry ON session (expiry);

CREATE TABLE audit_log (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at         timestamptz NOT NULL,
  person_id  text, -- null: the platform itself
  account_id text,
  action     text NOT NULL,
  subject    text NOT NULL,
  detail     jsonb NOT NULL DEFAULT '{}'
);

CREATE TABLE mail (
  id         text PRIMARY KEY,
  kind       text NOT NULL,
  to_address text NOT NULL,
  subject    text NOT NULL,
  body       text NOT NULL,
  created_at timestamptz NOT NULL,
  next_at    timestamptz NOT NULL, -- not tried before
  attempts   int NOT NULL DEFAULT 0,
  last_error text NOT NULL DEFAULT '',
  sent_at    timestamptz,
  key        text NOT NULL UNIQUE -- the same notice is written once
);
CREATE INDEX mail_unsent ON mail (next_at) WHERE sent_at IS NULL;

CREATE TABLE application (
  id                 text PRIMARY KEY,
  account_id         text NOT NULL REFERENCES account,
  person_id          text NOT NULL REFERENCES person,
  state              text NOT NULL CHECK (state IN ('draft', 'submitted', 'information_requested', 'approved', 'rejected', 'withdrawn')),
  form               jsonb NOT NULL, -- provider.Form
  locale             text NOT NULL,
  created_at         timestamptz NOT NULL,
  updated_at         timestamptz NOT NULL,
  submitted_at       timestamptz,
  due_at             timestamptz,
  decided_at         timestamptz
);
-- One open application an account.
CREATE UNIQUE INDEX application_open ON application (account_id) WHERE state IN ('draft', 'submitted', 'information_requested');
CREATE INDEX application_queue ON application (due_at) WHERE state IN ('submitted', 'information_requested');

CREATE TABLE application_event (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  application_id text NOT NULL REFERENCES application,
  at             timestamptz NOT NULL,
  person_id      text NOT NULL REFERENCES person,
  from_state     text NOT NULL,
  to_state       text NOT NULL,
  reason         text NOT NULL
);
CREATE INDEX application_event_of ON application_event (application_id, id);

CREATE TABLE provider (
  account_id        text PRIMARY KEY REFERENCES account,
  tier              text NOT NULL CHECK (tier IN ('enterprise', 'community')),
  status            text NOT NULL CHECK (status IN ('active', 'suspended')),
  models            text[] NOT NULL,
  max_hosts         int NOT NULL CHECK (max_hosts > 0),
  commitment_months int NOT NULL CHECK (commitment_months >= 0),
  city              text NOT NULL,
  country           text NOT NULL,
  region            text NOT NULL,
  approved_at       timestamptz NOT NULL
);
