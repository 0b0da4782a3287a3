-- What did each campaign deliver, and what did it cost?
SELECT tenant, campaign, count(*) AS messages,
  count(*) FILTER (WHERE outcome = 'SENT') AS sent,
  count(*) FILTER (WHERE delivery = 'DELIVERED') AS delivered,
  count(*) FILTER (WHERE delivery = 'FAILED') AS failed,
  sum(parts) AS parts, sum(price) AS price
FROM messages
GROUP BY tenant, campaign
ORDER BY messages DESC, tenant, campaign;

-- Which country is slow?
SELECT country, count(*) AS delivered, round(avg(seconds)) AS average_seconds,
  round(100.0 * count(*) FILTER (WHERE seconds <= 10) / count(*)) AS percent_in_10_s,
  round(100.0 * count(*) FILTER (WHERE seconds <= 60) / count(*)) AS percent_in_a_minute
FROM messages
WHERE delivery = 'DELIVERED'
GROUP BY country
ORDER BY average_seconds DESC, country;

-- Which tenant burns money: parts of what did not arrive, and ids that were sent more than once?
SELECT tenant, sum(m.parts) AS parts, sum(m.price) AS price,
  sum(m.parts) FILTER (WHERE delivery = 'FAILED') AS parts_failed,
  count(*) FILTER (WHERE times_sent > 1) AS sent_twice
FROM messages AS m
WHERE times_sent > 0
GROUP BY tenant
ORDER BY parts DESC, tenant;

-- Which channel delivers? A message without a verdict has no channel.
SELECT type, channel, count(*) AS sent,
  count(*) FILTER (WHERE delivery = 'DELIVERED') AS delivered,
  count(*) FILTER (WHERE delivery = 'FAILED') AS failed,
  count(*) FILTER (WHERE delivery IS NULL) AS no_verdict
FROM messages
WHERE outcome = 'SENT'
GROUP BY type, channel
ORDER BY sent DESC, type, channel;

-- What was delivered of each day's commands, by country? For campaign or type, put them in the place of country.
SELECT date(command_at) AS day, country, count(*) AS messages,
  count(*) FILTER (WHERE delivery = 'DELIVERED') AS delivered,
  round(100.0 * count(*) FILTER (WHERE delivery = 'DELIVERED') / count(*)) AS percent_delivered
FROM messages
GROUP BY date(command_at), country
ORDER BY day, country;

-- How many messages arrived in each minute of the last day?
SELECT date_trunc('minute', told_at) AS arrived_at, count(*) AS messages
FROM messages
WHERE delivery = 'DELIVERED' AND told_at > (SELECT max(told_at) - INTERVAL '1 day' FROM messages)
GROUP BY date_trunc('minute', told_at)
ORDER BY arrived_at;

-- Why were messages not sent, or not known to be?
SELECT outcome, error_code, count(*) AS messages
FROM messages
WHERE outcome <> 'SENT'
GROUP BY outcome, error_code
ORDER BY messages DESC, outcome, error_code;
