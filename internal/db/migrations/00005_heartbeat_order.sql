-- +goose Up
-- The newest heartbeat of a host since its last hello, by the host's own clock; null: none.
ALTER TABLE host ADD COLUMN beat_at timestamptz;
