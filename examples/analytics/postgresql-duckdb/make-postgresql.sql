-- Followed by messages.sql: makes the table of one row a message.
CREATE OR REPLACE FUNCTION seconds_between(earlier TIMESTAMP, later TIMESTAMP) RETURNS DOUBLE PRECISION
LANGUAGE sql IMMUTABLE RETURN extract(epoch FROM later - earlier);

SET LOCAL enable_nestloop = off; -- the planner takes the parts of messages.sql for single rows, and would join in quadratic time

DROP TABLE IF EXISTS messages CASCADE; -- and daily, which daily.sql makes again

CREATE TABLE messages AS
