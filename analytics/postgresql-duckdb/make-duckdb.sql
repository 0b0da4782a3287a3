-- Followed by messages.sql: makes the table of one row a message.
CREATE OR REPLACE MACRO seconds_between(earlier, later) AS epoch(later - earlier);

CREATE OR REPLACE TABLE messages AS
