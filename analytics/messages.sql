-- One row a message, of the tables results and statuses. seconds_between is defined beside each engine's tables.

-- What became of each command record: its first final result, or that it is in doubt.
WITH of_records AS (
  SELECT *, row_number() OVER (
    PARTITION BY command_topic, command_partition, command_offset ORDER BY final DESC, completed_at
  ) AS nth_of_record
  FROM results
),

-- Of an id that was written several times, the record that tells most about whether the message was sent.
of_ids AS (
  SELECT *,
    row_number() OVER (
      PARTITION BY account, id
      ORDER BY
        CASE outcome
          WHEN 'SENT' THEN 1
          WHEN 'UNRESOLVED' THEN 2
          WHEN 'REJECTED' THEN 3
          WHEN 'EXPIRED' THEN 4
          WHEN 'INVALID' THEN 5
          WHEN 'IN_DOUBT' THEN 7
          WHEN 'DUPLICATE' THEN 8 -- says nothing of the message
          ELSE 6 -- UNKNOWN, or a word that a newer busgate added
        END,
        completed_at
    ) AS nth_of_id,
    count(*) OVER (PARTITION BY account, id) AS records,
    sum(CASE WHEN outcome = 'SENT' THEN 1 ELSE 0 END) OVER (PARTITION BY account, id) AS times_sent,
    -- A refused request was not executed; one whose answer was lost may have been.
    sum(CASE WHEN final AND outcome <> 'REJECTED' THEN attempts ELSE 0 END) OVER (PARTITION BY account, id) AS all_attempts,
    sum(parts) OVER (PARTITION BY account, id) AS all_parts,
    sum(price) OVER (PARTITION BY account, id) AS whole_price
  FROM of_records
  WHERE nth_of_record = 1
),

-- The most telling verdict, in whatever order the events came. What is not verified counts only for a message
-- without a callback address of its own.
verdicts AS (
  SELECT s.account, s.id, s.state, s.type AS channel, s.status, s.source, coalesce(s.updated_at, s.received_at) AS told_at,
    row_number() OVER (
      PARTITION BY s.account, s.id
      ORDER BY
        CASE WHEN s.state NOT IN ('DELIVERED', 'FAILED') THEN 3 WHEN s.verified THEN 1 ELSE 2 END,
        CASE WHEN s.state = 'DELIVERED' THEN 1 ELSE 2 END,
        coalesce(s.updated_at, s.received_at), s.source, s.status, s.type
    ) AS nth_of_message
  FROM statuses AS s
  INNER JOIN of_ids AS m ON m.account = s.account AND m.id = s.id
  WHERE m.nth_of_id = 1 AND s.final AND (s.verified OR m.hooked = false)
)

SELECT m.account, m.id, m.tenant, m.campaign, m.country, m.type, m.outcome, m.error_code, m.hooked,
  m.command_at, m.sent_at, m.completed_at, m.records, m.times_sent, m.all_attempts AS attempts,
  m.all_parts AS parts, m.whole_price AS price, v.state AS delivery, v.channel,
  v.status AS verdict_status, v.source AS verdict_source, v.told_at,
  seconds_between(m.sent_at, v.told_at) AS seconds
FROM of_ids AS m
LEFT JOIN (SELECT * FROM verdicts WHERE nth_of_message = 1) AS v ON v.account = m.account AND v.id = m.id
WHERE m.nth_of_id = 1 AND m.outcome <> 'DUPLICATE';
