-- Followed by messages.sql: makes the table of one row a message anew, in place, so that views and grants on it stay.
SET LOCAL client_min_messages = warning; -- it may exist already

CREATE OR REPLACE FUNCTION seconds_between(earlier TIMESTAMP, later TIMESTAMP) RETURNS DOUBLE PRECISION
LANGUAGE sql IMMUTABLE RETURN extract(epoch FROM later - earlier);

CREATE TABLE IF NOT EXISTS messages (
  account TEXT, id BIGINT, tenant TEXT, campaign TEXT, country TEXT, type TEXT, outcome TEXT, error_code TEXT, hooked BOOLEAN,
  command_at TIMESTAMP, sent_at TIMESTAMP, completed_at TIMESTAMP, records BIGINT, times_sent BIGINT, attempts BIGINT,
  parts BIGINT, price DOUBLE PRECISION, delivery TEXT, channel TEXT, verdict_status TEXT, verdict_source TEXT,
  told_at TIMESTAMP, seconds DOUBLE PRECISION
);

SET LOCAL enable_nestloop = off; -- the planner takes the parts of messages.sql for single rows, and would join in quadratic time

DROP INDEX IF EXISTS messages_told_at; -- made faster afterwards, by daily.sql

TRUNCATE messages;

INSERT INTO messages
