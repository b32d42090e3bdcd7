-- +goose Up
-- The ledger and payouts. Amounts are micro-USDC; an account's balance is the sum of its entries, credit positive.

CREATE TABLE ledger_account (
  code    text PRIMARY KEY, -- as in customer:acc_…:available
  owner   text,             -- account that it belongs to; null for the platform's own
  floor   bigint,           -- balance never below this; null: no floor
  balance bigint NOT NULL DEFAULT 0,
  CONSTRAINT ledger_floor CHECK (floor IS NULL OR balance >= floor)
) WITH (fillfactor = 50);
CREATE INDEX ledger_account_owner ON ledger_account (owner);

CREATE TABLE ledger_txn (
  id           text PRIMARY KEY,
  key          text NOT NULL UNIQUE, -- idempotency
  request_hash bytea NOT NULL,       -- the same key with another content is an error
  kind         text NOT NULL,
  subject      text NOT NULL,        -- what it is about, as in rnt_…
  memo         text NOT NULL,
  at           timestamptz NOT NULL
);
CREATE INDEX ledger_txn_subject ON ledger_txn (subject);

CREATE TABLE ledger_entry (
  seq     bigint GENERATED ALWAYS AS IDENTITY, -- the order of the books
  txn_id  text NOT NULL REFERENCES ledger_txn,
  leg     int NOT NULL,
  account text NOT NULL REFERENCES ledger_account,
  micro   bigint NOT NULL CHECK (micro <> 0),
  after   bigint NOT NULL, -- the account's balance after this entry
  PRIMARY KEY (txn_id, leg)
);
CREATE INDEX ledger_entry_account ON ledger_entry (account, seq);

-- +goose StatementBegin
CREATE FUNCTION ledger_balanced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT sum(micro) FROM ledger_entry WHERE txn_id = NEW.txn_id) <> 0 THEN
    RAISE EXCEPTION 'ledger: transaction % is not balanced', NEW.txn_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
-- For every leg: a leg added later to an old transaction is caught too.
CREATE CONSTRAINT TRIGGER ledger_balanced AFTER INSERT ON ledger_entry
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_balanced();

-- +goose StatementBegin
CREATE FUNCTION ledger_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'ledger: % of % is forbidden, post a reversal', TG_OP, TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER ledger_entry_immutable BEFORE UPDATE OR DELETE ON ledger_entry FOR EACH ROW EXECUTE FUNCTION ledger_immutable();
CREATE TRIGGER ledger_entry_no_truncate BEFORE TRUNCATE ON ledger_entry EXECUTE FUNCTION ledger_immutable();
CREATE TRIGGER ledger_txn_immutable BEFORE UPDATE OR DELETE ON ledger_txn FOR EACH ROW EXECUTE FUNCTION ledger_immutable();
CREATE TRIGGER ledger_txn_no_truncate BEFORE TRUNCATE ON ledger_txn EXECUTE FUNCTION ledger_immutable();

CREATE TABLE payout_setting (
  provider_id text PRIMARY KEY REFERENCES provider,
  schedule    text NOT NULL CHECK (schedule IN ('weekly', 'monthly')),
  rail        text NOT NULL CHECK (rail IN ('simulated')),
  destination text NOT NULL,
  set_at      timestamptz NOT NULL
);

CREATE TABLE payout_run (
  id         text PRIMARY KEY,
  schedule   text NOT NULL CHECK (schedule IN ('weekly', 'monthly')),
  period_end timestamptz NOT NULL, -- exclusive
  started_at timestamptz NOT NULL,
  UNIQUE (schedule, period_end)
);

CREATE TABLE payout (
  id           text PRIMARY KEY,
  run_id       text NOT NULL REFERENCES payout_run,
  provider_id  text NOT NULL REFERENCES provider,
  micro        bigint NOT NULL CHECK (micro > 0),
  rail         text NOT NULL,
  destination  text NOT NULL, -- as it was when planned
  state        text NOT NULL CHECK (state IN ('planned', 'sending', 'paid', 'returned')),
  reference    text NOT NULL DEFAULT '', -- the rail's, stored before the money moves
  detail       text NOT NULL DEFAULT '',
  planned_at   timestamptz NOT NULL,
  sending_at   timestamptz,
  settled_at   timestamptz,
  CONSTRAINT payout_once UNIQUE (run_id, provider_id)
);
CREATE INDEX payout_open ON payout (state) WHERE state IN ('planned', 'sending');
CREATE INDEX payout_provider ON payout (provider_id, planned_at DESC);

-- What the simulated rail has been asked to pay: it stands for the outside world, not for our books.
CREATE TABLE simulated_transfer (
  reference   text PRIMARY KEY,
  destination text NOT NULL,
  micro       bigint NOT NULL CHECK (micro > 0),
  at          timestamptz NOT NULL
);
