-- Followed by messages.sql: makes the table of one row a message.
CREATE OR REPLACE FUNCTION seconds_between AS (earlier, later) -> dateDiff('millisecond', earlier, later) / 1000;

SET join_use_nulls = 1;

CREATE OR REPLACE TABLE messages ENGINE = MergeTree ORDER BY (account, id) AS
