-- Sent is what the gateway accepted: SENT, and UNRESOLVED that has a verdict after all.

-- 1. What did each campaign deliver, and what did it cost? Neither sum holds the cost of the messages counted by cost_unknown.
SELECT tenant, campaign, count(*) AS messages,
  count(*) FILTER (WHERE outcome = 'SENT' OR delivery IS NOT NULL) AS sent,
  count(*) FILTER (WHERE delivery = 'DELIVERED') AS delivered,
  count(*) FILTER (WHERE delivery = 'FAILED') AS failed,
  sum(m.parts) AS parts, sum(m.price) AS price,
  count(*) FILTER (WHERE (times_sent > 0 OR delivery IS NOT NULL) AND m.parts IS NULL AND m.price IS NULL) AS cost_unknown
FROM messages AS m
GROUP BY tenant, campaign
ORDER BY messages DESC, tenant, campaign;

-- 2. Which country is slow? Without polled verdicts: their seconds include the wait for the poll.
SELECT country, count(*) AS callbacks, round(avg(seconds)) AS average_seconds,
  round(100.0 * count(*) FILTER (WHERE seconds <= 10) / count(*)) AS percent_in_10_s,
  round(100.0 * count(*) FILTER (WHERE seconds <= 60) / count(*)) AS percent_in_a_minute
FROM messages
WHERE delivery = 'DELIVERED' AND verdict_source <> 'POLL'
GROUP BY country
ORDER BY average_seconds DESC, country;

-- 3. Which tenant burns money: parts of what did not arrive, and ids that were sent more than once? perhaps_sent_twice is an upper
-- bound: a request whose answer was lost need not have been executed.
SELECT tenant, sum(m.parts) AS parts, sum(m.price) AS price,
  sum(m.parts) FILTER (WHERE delivery = 'FAILED') AS parts_failed,
  count(*) FILTER (WHERE (times_sent > 0 OR delivery IS NOT NULL) AND m.parts IS NULL AND m.price IS NULL) AS cost_unknown,
  count(*) FILTER (WHERE times_sent > 1) AS sent_twice,
  count(*) FILTER (WHERE attempts > 1 AND attempts > times_sent) AS perhaps_sent_twice
FROM messages AS m
GROUP BY tenant
ORDER BY parts DESC, tenant;

-- 4. Which channel delivers? Only messages that can have a verdict; one that has none yet has no channel.
SELECT type, channel, count(*) AS sent,
  count(*) FILTER (WHERE delivery = 'DELIVERED') AS delivered,
  count(*) FILTER (WHERE delivery = 'FAILED') AS failed,
  count(*) FILTER (WHERE delivery IS NULL) AS no_verdict
FROM messages
WHERE (outcome = 'SENT' OR delivery IS NOT NULL) AND type NOT IN ('call/otp', 'hlr')
GROUP BY type, channel
ORDER BY sent DESC, type, channel;

-- 5. What was delivered of what was sent on each day, by country? Only messages that can have a verdict. For campaign or type,
-- put them in the place of country. A day counts once no_verdict has stopped falling.
SELECT date(command_at) AS day, country, count(*) AS sent,
  count(*) FILTER (WHERE delivery = 'DELIVERED') AS delivered,
  count(*) FILTER (WHERE delivery IS NULL) AS no_verdict,
  round(100.0 * count(*) FILTER (WHERE delivery = 'DELIVERED') / count(*)) AS percent_delivered
FROM messages
WHERE (outcome = 'SENT' OR delivery IS NOT NULL) AND type NOT IN ('call/otp', 'hlr')
GROUP BY date(command_at), country
ORDER BY day, country;

-- 6. How many messages arrived in each minute of the last day?
SELECT date_trunc('minute', told_at) AS arrived_at, count(*) AS messages
FROM messages
WHERE delivery = 'DELIVERED' AND told_at > (SELECT max(told_at) - INTERVAL '1 day' FROM messages)
GROUP BY date_trunc('minute', told_at)
ORDER BY arrived_at;

-- 7. Why were messages not sent, or not known to be?
SELECT outcome, error_code, count(*) AS messages
FROM messages
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
  count(*) AS messages, min(date(command_at)) AS first_day
FROM messages
WHERE delivery IS NULL OR delivery NOT IN ('DELIVERED', 'FAILED')
GROUP BY type, why
ORDER BY messages DESC, type, why;

-- 9. Why were sent messages not delivered? The gateway's word for it.
SELECT tenant, campaign, channel, verdict_status, count(*) AS messages
FROM messages
WHERE delivery = 'FAILED'
GROUP BY tenant, campaign, channel, verdict_status
ORDER BY messages DESC, tenant, campaign, channel, verdict_status;
