-- Makes the table messages with five million rows of 30 days, to see how fast report.sql is. PostgreSQL and DuckDB run it, in a
-- database that has no such table yet.
CREATE TABLE messages AS
SELECT 'default' AS account, n AS id, tenant, campaign, country, type, outcome, error_code, true AS hooked,
  command_at, sent_at, coalesce(sent_at, command_at) + INTERVAL '1 second' AS completed_at,
  1 AS records, times_sent, times_sent AS attempts, times_sent * (1 + n % 3) AS parts, CAST(NULL AS DOUBLE PRECISION) AS price,
  delivery, CASE WHEN delivery IS NOT NULL THEN CASE WHEN n % 4 = 0 THEN 'viber' ELSE 'sms' END END AS channel,
  CASE WHEN delivery = 'FAILED' THEN CASE WHEN n % 2 = 0 THEN 'UNDELIVERABLE' ELSE 'EXPIRED' END ELSE delivery END AS verdict_status,
  CASE WHEN delivery IS NOT NULL THEN CASE WHEN n % 40 = 0 THEN 'POLL' ELSE 'CALLBACK' END END AS verdict_source,
  CASE WHEN delivery IS NOT NULL THEN sent_at + seconds * INTERVAL '1 second' END AS told_at,
  CASE WHEN delivery IS NOT NULL THEN seconds END AS seconds
FROM (
  SELECT n, tenant, campaign, country, type, outcome, error_code, command_at, seconds,
    CASE WHEN outcome = 'SENT' THEN 1 ELSE 0 END AS times_sent,
    CASE WHEN outcome = 'SENT' THEN command_at + INTERVAL '1 second' END AS sent_at,
    CASE WHEN outcome <> 'SENT' OR n % 50 = 0 THEN NULL WHEN n % 11 = 0 THEN 'FAILED' ELSE 'DELIVERED' END AS delivery
  FROM (
    SELECT n,
      CASE n % 5 WHEN 0 THEN 'bank' WHEN 1 THEN 'clinic' ELSE 'shop' END AS tenant,
      CASE WHEN n % 7 > 0 THEN 'campaign-' || CAST(n * 7919 % 200 AS VARCHAR(9)) END AS campaign,
      CASE n * 31 % 8 WHEN 0 THEN 'PL' WHEN 1 THEN 'DE' WHEN 2 THEN 'RO' ELSE 'UA' END AS country,
      CASE WHEN n % 4 < 2 THEN 'viber+sms' ELSE 'sms' END AS type,
      CASE n % 100 WHEN 1 THEN 'REJECTED' WHEN 2 THEN 'EXPIRED' WHEN 3 THEN 'EXPIRED' ELSE 'SENT' END AS outcome,
      CASE n % 100 WHEN 1 THEN 'SENDER_INVALID' WHEN 2 THEN 'DEADLINE' WHEN 3 THEN 'WITHDRAWN' END AS error_code,
      TIMESTAMP '2026-03-01 00:00:00' + n * 0.5184 * INTERVAL '1 second' AS command_at,
      CAST(2 + n * 48271 % 97 + CASE WHEN n % 17 = 0 THEN 300 ELSE 0 END AS DOUBLE PRECISION) AS seconds
    FROM generate_series(CAST(1 AS BIGINT), 5000000) AS numbers(n)
  ) AS commands
) AS results;
