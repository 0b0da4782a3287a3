-- What became of the messages of each day
SELECT date(written_at) AS day, type, outcome, error_code, count(*) AS messages, sum(parts) AS parts
FROM messages
WHERE outcome IS NOT NULL
GROUP BY day, type, outcome, error_code
ORDER BY day, messages DESC, type, outcome;

-- How many of those sent arrived
SELECT type, count(*) AS sent,
  sum(delivery = 'DELIVERED') AS delivered,
  sum(delivery = 'FAILED') AS failed,
  sum(delivery IS NULL) AS not_told_yet,
  round(100.0 * sum(delivery = 'DELIVERED') / count(delivery), 1) AS percent_of_told
FROM messages
WHERE outcome = 'SENT'
GROUP BY type
ORDER BY type;

-- Seconds from the producer to the gateway, and from there to the verdict
SELECT type,
  round(avg(julianday(sent_at) - julianday(written_at)) * 86400, 3) AS to_gateway,
  round(avg(julianday(told_at) - julianday(sent_at)) * 86400, 3) AS to_verdict
FROM messages
WHERE outcome = 'SENT'
GROUP BY type
ORDER BY type;

-- What has no verdict yet, the oldest first
SELECT c.id, c.account, c.command_topic, c.command_partition, c.command_offset, c.written_at,
  EXISTS (
    SELECT 1 FROM results AS r
    WHERE r.command_topic = c.command_topic
      AND r.command_partition = c.command_partition
      AND r.command_offset = c.command_offset
  ) AS in_doubt
FROM commands AS c
LEFT JOIN record_verdicts AS v USING (command_topic, command_partition, command_offset)
WHERE v.id IS NULL
ORDER BY c.written_at
LIMIT 20;

-- Ids that were written more than once, and whether a second one was sent all the same
SELECT id, account, count(*) AS records, sum(outcome = 'DUPLICATE') AS duplicates, sum(outcome = 'SENT') AS sent
FROM record_verdicts
GROUP BY id, account
HAVING count(*) > 1
ORDER BY sent DESC, records DESC
LIMIT 20;
