-- What became of each command record: its final result. `final` holds for the record.
-- (In rare failures of a broker one result is there twice, alike in all but its place: docs/delivery.md.)
CREATE VIEW IF NOT EXISTS record_verdicts AS
SELECT *
FROM (
  SELECT *, row_number() OVER (
    PARTITION BY command_topic, command_partition, command_offset ORDER BY completed_at
  ) AS nth
  FROM results
  WHERE final
)
WHERE nth = 1;

-- What became of each id: of its records the one that tells most about whether the message was sent.
-- A DUPLICATE tells nothing of the id, so it does not count.
CREATE VIEW IF NOT EXISTS id_verdicts AS
SELECT *
FROM (
  SELECT id, account, type, outcome, error_code, parts, price, attempts, sent_at, completed_at, hooked,
    row_number() OVER (
      PARTITION BY account, id
      ORDER BY
        CASE outcome
          WHEN 'SENT' THEN 1
          WHEN 'UNRESOLVED' THEN 2
          WHEN 'REJECTED' THEN 3
          WHEN 'EXPIRED' THEN 4
          WHEN 'INVALID' THEN 5
          ELSE 6
        END,
        completed_at
    ) AS nth
  FROM record_verdicts
  WHERE outcome <> 'DUPLICATE'
)
WHERE nth = 1;

-- How far each message got: the most that any of its events tells, in whatever order they came.
-- What is not verified counts only for a message that went without an address of its own: docs/statuses.md.
CREATE VIEW IF NOT EXISTS deliveries AS
SELECT id, account, verdict, status, told_at
FROM (
  SELECT *, row_number() OVER (PARTITION BY account, id ORDER BY rank, told_at, status) AS nth
  FROM (
    SELECT s.id, s.account, s.status, s.told_at,
      CASE
        WHEN s.state IN ('DELIVERED', 'FAILED') THEN s.state
        WHEN s.state = 'UNKNOWN' AND s.final THEN 'UNKNOWN' -- given up
      END AS verdict,
      CASE
        WHEN s.state = 'DELIVERED' AND s.verified THEN 1
        WHEN s.state = 'FAILED' AND s.verified THEN 2
        WHEN s.state = 'DELIVERED' THEN 3
        WHEN s.state = 'FAILED' THEN 4
        WHEN s.state = 'UNKNOWN' AND s.final THEN 5
        WHEN s.state = 'PENDING' THEN 6
        ELSE 7
      END AS rank
    FROM statuses AS s
    LEFT JOIN id_verdicts AS v ON v.account = s.account AND v.id = s.id
    WHERE s.verified OR v.hooked = false
  )
)
WHERE nth = 1;

-- One row a message: when it was asked for, what became of it, and how far it got.
CREATE VIEW IF NOT EXISTS messages AS
SELECT c.id, c.account, c.tenant, c.written_at, c.records, v.type, v.outcome, v.error_code, v.parts, v.attempts, v.sent_at,
  d.verdict AS delivery, d.told_at
FROM (
  SELECT id, account, max(tenant) AS tenant, min(written_at) AS written_at, count(*) AS records
  FROM commands
  GROUP BY id, account
) AS c
LEFT JOIN id_verdicts AS v ON v.account = c.account AND v.id = c.id
LEFT JOIN deliveries AS d ON d.account = c.account AND d.id = c.id;
