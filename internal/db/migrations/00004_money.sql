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
  at           timestamptz NOT NULL,
  xact         xid8 NOT NULL DEFAULT pg_current_xact_id() -- it takes legs only in the database transaction that made it
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
  IF (SELECT xact FROM ledger_txn WHERE id = NEW.txn_id) <> pg_current_xact_id() THEN
    RAISE EXCEPTION 'ledger: transaction % is closed', NEW.txn_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
-- For every leg: a leg, or a balanced pair of legs, added later to an old transaction is caught too.
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

-- Writes one posting, in one round trip. The outcome is posted; already (the key has this content: nothing written);
-- reused (the key has another content) or funds (a floor would be broken). The last three write no posting and leave the
-- transaction usable, so it never deletes: the key is inserted only after the floors were checked under lock.
-- Accounts come each once, in the order in which every caller locks them; p_leg_account are positions among them. It goes
-- account by account, since a join with unnest is planned as a scan of all accounts.
-- +goose StatementBegin
CREATE FUNCTION ledger_post(p_id text, p_key text, p_hash bytea, p_kind text, p_subject text, p_memo text, p_at timestamptz,
  p_codes text[], p_owners text[], p_floored boolean[], p_delta bigint[], p_leg_account int[], p_leg_micro bigint[],
  OUT txn text, OUT outcome text)
LANGUAGE plpgsql AS $$
DECLARE
  v_hash    bytea;
  v_floor   bigint;
  v_balance bigint;
  v_before  bigint[] := '{}';
  v_short   boolean := false;
BEGIN
  SELECT t.id, t.request_hash INTO txn, v_hash FROM ledger_txn t WHERE t.key = p_key;
  IF FOUND THEN
    outcome := CASE WHEN v_hash = p_hash THEN 'already' ELSE 'reused' END;
    RETURN;
  END IF;

  FOR i IN 1 .. cardinality(p_codes) LOOP
    SELECT a.balance, a.floor INTO v_balance, v_floor FROM ledger_account a WHERE a.code = p_codes[i] FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      INSERT INTO ledger_account (code, owner, floor)
        VALUES (p_codes[i], nullif(p_owners[i], ''), CASE WHEN p_floored[i] THEN 0 END) ON CONFLICT (code) DO NOTHING;
      SELECT a.balance, a.floor INTO STRICT v_balance, v_floor FROM ledger_account a WHERE a.code = p_codes[i] FOR NO KEY UPDATE;
    END IF;
    v_before[i] := v_balance;
    -- An account that is below its floor may still be paid into.
    v_short := v_short OR coalesce(p_delta[i] < 0 AND v_balance + p_delta[i] < v_floor, false);
  END LOOP;

  -- Who waited for the accounts may have waited for the same key.
  SELECT t.id, t.request_hash INTO txn, v_hash FROM ledger_txn t WHERE t.key = p_key;
  IF FOUND THEN
    outcome := CASE WHEN v_hash = p_hash THEN 'already' ELSE 'reused' END;
    RETURN;
  END IF;
  IF v_short THEN
    outcome := 'funds';
    RETURN;
  END IF;

  INSERT INTO ledger_txn (id, key, request_hash, kind, subject, memo, at)
    VALUES (p_id, p_key, p_hash, p_kind, p_subject, p_memo, p_at) ON CONFLICT (key) DO NOTHING;
  IF NOT FOUND THEN -- the same key on other accounts, at the same moment
    SELECT t.id, t.request_hash INTO STRICT txn, v_hash FROM ledger_txn t WHERE t.key = p_key;
    outcome := CASE WHEN v_hash = p_hash THEN 'already' ELSE 'reused' END;
    RETURN;
  END IF;

  FOR i IN 1 .. cardinality(p_codes) LOOP
    IF p_delta[i] <> 0 THEN
      UPDATE ledger_account a SET balance = v_before[i] + p_delta[i] WHERE a.code = p_codes[i];
    END IF;
  END LOOP;
  FOR l IN 1 .. cardinality(p_leg_micro) LOOP
    v_balance := v_before[p_leg_account[l]] + p_leg_micro[l];
    v_before[p_leg_account[l]] := v_balance;
    INSERT INTO ledger_entry (txn_id, leg, account, micro, after)
      VALUES (p_id, l, p_codes[p_leg_account[l]], p_leg_micro[l], v_balance);
  END LOOP;
  txn := p_id;
  outcome := 'posted';
END $$;
-- +goose StatementEnd

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
  planned_at timestamptz,          -- every provider has been looked at: nothing more is planned for this period
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
