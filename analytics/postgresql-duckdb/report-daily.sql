-- The questions of report.sql, answered from daily. Add WHERE day >= … for a period.

-- 1. What did each campaign deliver, and what did it cost? Neither sum holds the cost of the messages counted by cost_unknown.
SELECT tenant, campaign, sum(messages) AS messages,
  coalesce(sum(messages) FILTER (WHERE outcome = 'SENT' OR delivery IS NOT NULL), 0) AS sent,
  coalesce(sum(messages) FILTER (WHERE delivery = 'DELIVERED'), 0) AS delivered,
  coalesce(sum(messages) FILTER (WHERE delivery = 'FAILED'), 0) AS failed,
  sum(parts) AS parts, sum(price) AS price, sum(cost_unknown) AS cost_unknown
FROM daily
GROUP BY tenant, campaign
ORDER BY messages DESC, tenant, campaign;

-- 2. Which country is slow? Without polled verdicts: their seconds include the wait for the poll.
SELECT country, sum(messages) AS callbacks, round(sum(seconds) / sum(messages)) AS average_seconds,
  round(100 * sum(in_10_s) / sum(messages)) AS percent_in_10_s,
  round(100 * sum(in_a_minute) / sum(messages)) AS percent_in_a_minute
FROM daily
WHERE delivery = 'DELIVERED' AND verdict_source <> 'POLL'
GROUP BY country
ORDER BY average_seconds DESC, country;

-- 3. Which tenant burns money: parts of what did not arrive, and ids that were sent more than once? perhaps_sent_twice is an upper
-- bound: a request whose answer was lost need not have been executed.
SELECT tenant, sum(d.parts) AS parts, sum(d.price) AS price,
  sum(d.parts) FILTER (WHERE delivery = 'FAILED') AS parts_failed,
  sum(cost_unknown) AS cost_unknown, sum(sent_twice) AS sent_twice, sum(perhaps_sent_twice) AS perhaps_sent_twice
FROM daily AS d
GROUP BY tenant
ORDER BY parts DESC, tenant;

-- 4. Which channel delivers? Only messages that can have a verdict; one that has none yet has no channel.
SELECT type, channel, sum(messages) AS sent,
  coalesce(sum(messages) FILTER (WHERE delivery = 'DELIVERED'), 0) AS delivered,
  coalesce(sum(messages) FILTER (WHERE delivery = 'FAILED'), 0) AS failed,
  coalesce(sum(messages) FILTER (WHERE delivery IS NULL), 0) AS no_verdict
FROM daily
WHERE (outcome = 'SENT' OR delivery IS NOT NULL) AND type NOT IN ('call/otp', 'hlr')
GROUP BY type, channel
ORDER BY sent DESC, type, channel;

-- 5. What was delivered of what was sent on each day, by country? Only messages that can have a verdict. For campaign or type,
-- put them in the place of country. A day counts once no_verdict has stopped falling.
SELECT day, country, sum(messages) AS sent,
  coalesce(sum(messages) FILTER (WHERE delivery = 'DELIVERED'), 0) AS delivered,
  coalesce(sum(messages) FILTER (WHERE delivery IS NULL), 0) AS no_verdict,
  round(100 * coalesce(sum(messages) FILTER (WHERE delivery = 'DELIVERED'), 0) / sum(messages)) AS percent_delivered
FROM daily
WHERE (outcome = 'SENT' OR delivery IS NOT NULL) AND type NOT IN ('call/otp', 'hlr')
GROUP BY day, country
ORDER BY day, country;

-- 6. How many messages arrived in each minute of the last day? From messages itself, through its index.
SELECT date_trunc('minute', told_at) AS arrived_at, count(*) AS messages
FROM messages
WHERE delivery = 'DELIVERED' AND told_at > (SELECT max(told_at) - INTERVAL '1 day' FROM messages)
GROUP BY date_trunc('minute', told_at)
ORDER BY arrived_at;

-- 7. Why were messages not sent, or not known to be?
SELECT outcome, error_code, sum(messages) AS messages
FROM daily
WHERE outcome <> 'SENT' AND delivery IS NULL
GROUP BY outcome, error_code
ORDER BY messages DESC, outcome, error_code;

-- 8. Why have messages no verdict, and since which day?
SELECT type,
  CASE
    WHEN delivery = 'UNKNOWN' THEN 'given up'
    WHEN outcome IN ('REJECTED', 'EXPIRED', 'INVALID') THEN 'not sent'
    WHEN outcome <> 'SENT' THEN 'perhaps not sent'
    WHEN type IN ('call/otp', 'hlr') THEN 'never has one'
    ELSE 'waiting'
  END AS why,
  sum(messages) AS messages, min(day) AS first_day
FROM daily
WHERE delivery IS NULL OR delivery NOT IN ('DELIVERED', 'FAILED')
GROUP BY type, why
ORDER BY messages DESC, type, why;

-- 9. Why were sent messages not delivered? The gateway's word for it.
SELECT tenant, campaign, channel, verdict_status, sum(messages) AS messages
FROM daily
WHERE delivery = 'FAILED'
GROUP BY tenant, campaign, channel, verdict_status
ORDER BY messages DESC, tenant, campaign, channel, verdict_status;
