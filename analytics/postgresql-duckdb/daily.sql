-- Sums messages up by day and by everything that report-daily.sql asks about. Run again, it refreshes the sums.
SET client_min_messages = warning; -- both may exist already

CREATE MATERIALIZED VIEW IF NOT EXISTS daily AS
SELECT date(command_at) AS day, tenant, campaign, country, type, channel, outcome, error_code, delivery, verdict_status,
  verdict_source,
  count(*) AS messages,
  count(*) FILTER (WHERE (times_sent > 0 OR delivery IS NOT NULL) AND parts IS NULL AND price IS NULL) AS cost_unknown,
  count(*) FILTER (WHERE times_sent > 1) AS sent_twice,
  count(*) FILTER (WHERE attempts > 1 AND attempts > times_sent) AS perhaps_sent_twice,
  sum(parts) AS parts, sum(price) AS price, sum(seconds) AS seconds,
  count(*) FILTER (WHERE seconds <= 10) AS in_10_s, count(*) FILTER (WHERE seconds <= 60) AS in_a_minute
FROM messages
GROUP BY date(command_at), tenant, campaign, country, type, channel, outcome, error_code, delivery, verdict_status, verdict_source
WITH NO DATA;

REFRESH MATERIALIZED VIEW daily;

CREATE INDEX IF NOT EXISTS messages_told_at ON messages (told_at);
