-- Writes busgate.messages: one row a message, its last state. Change the addresses of Kafka and the registry; README.md runs it.

SET 'pipeline.name' = 'busgate.messages';
SET 'execution.checkpointing.interval' = '30 s';
-- What comes later than this after a message's last event is not counted: README.md
SET 'table.exec.state.ttl' = '30 d';
-- Statuses whose result is still to come make no row yet: its outcome is NOT NULL. A WHERE would do the same, but then Flink
-- writes a tombstone before each update.
SET 'table.exec.sink.not-null-enforcer' = 'DROP';
-- One row for the several events of a second
SET 'table.exec.mini-batch.enabled' = 'true';
SET 'table.exec.mini-batch.allow-latency' = '1 s';
SET 'table.exec.mini-batch.size' = '10000';

-- The readers' schemas name the fields that the job needs. Records of each version are decoded with their own schema, then
-- brought to this one. Flink reads an Avro enum only if its schema is given.
CREATE TABLE results (
  account STRING NOT NULL,
  id BIGINT NOT NULL,
  `type` STRING NOT NULL,
  outcome STRING NOT NULL,
  `final` BOOLEAN NOT NULL,
  errorCode STRING,
  attempts INT NOT NULL,
  parts INT,
  price DOUBLE,
  commandTopic STRING NOT NULL,
  commandPartition INT NOT NULL,
  commandOffset BIGINT NOT NULL,
  commandAt TIMESTAMP(3), -- all times are UTC
  sentAt TIMESTAMP(3),
  completedAt TIMESTAMP(3) NOT NULL,
  correlationId STRING,
  tenant STRING,
  campaign STRING,
  country STRING,
  hooked BOOLEAN,
  arrival AS PROCTIME()
) WITH (
  'connector' = 'kafka',
  'topic' = 'busgate.results',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'busgate-messages',
  'properties.isolation.level' = 'read_committed', -- without it Kafka's Java client reads aborted records
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'avro-confluent',
  'avro-confluent.url' = 'http://localhost:8081',
  'avro-confluent.schema' = '{
    "type": "record", "name": "SendResult", "namespace": "io.busgate", "fields": [
      { "name": "account", "type": "string" },
      { "name": "id", "type": "long" },
      { "name": "type", "type": "string" },
      { "name": "outcome", "type": { "type": "enum", "name": "SendResultOutcome", "default": "UNKNOWN", "symbols":
        ["SENT", "REJECTED", "INVALID", "EXPIRED", "DUPLICATE", "IN_DOUBT", "UNRESOLVED", "UNKNOWN"] } },
      { "name": "final", "type": "boolean" },
      { "name": "errorCode", "type": ["null", "string"], "default": null },
      { "name": "attempts", "type": "int" },
      { "name": "parts", "type": ["null", "int"], "default": null },
      { "name": "price", "type": ["null", "double"], "default": null },
      { "name": "commandTopic", "type": "string" },
      { "name": "commandPartition", "type": "int" },
      { "name": "commandOffset", "type": "long" },
      { "name": "commandAt", "type": ["null", { "type": "long", "logicalType": "timestamp-millis" }], "default": null },
      { "name": "sentAt", "type": ["null", { "type": "long", "logicalType": "timestamp-millis" }], "default": null },
      { "name": "completedAt", "type": { "type": "long", "logicalType": "timestamp-millis" } },
      { "name": "correlationId", "type": ["null", "string"], "default": null },
      { "name": "tenant", "type": ["null", "string"], "default": null },
      { "name": "campaign", "type": ["null", "string"], "default": null },
      { "name": "country", "type": ["null", "string"], "default": null },
      { "name": "hooked", "type": ["null", "boolean"], "default": null }
    ] }'
);

CREATE TABLE statuses (
  account STRING NOT NULL,
  id BIGINT NOT NULL,
  `type` STRING NOT NULL,
  status STRING NOT NULL,
  state STRING NOT NULL,
  `final` BOOLEAN NOT NULL,
  source STRING NOT NULL,
  verified BOOLEAN NOT NULL,
  updatedAt TIMESTAMP(3),
  receivedAt TIMESTAMP(3) NOT NULL
) WITH (
  'connector' = 'kafka',
  'topic' = 'busgate.statuses',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'busgate-messages',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'avro-confluent',
  'avro-confluent.url' = 'http://localhost:8081',
  'avro-confluent.schema' = '{
    "type": "record", "name": "StatusEvent", "namespace": "io.busgate", "fields": [
      { "name": "account", "type": "string" },
      { "name": "id", "type": "long" },
      { "name": "type", "type": "string" },
      { "name": "status", "type": "string" },
      { "name": "state", "type": { "type": "enum", "name": "StatusEventState", "default": "UNKNOWN", "symbols":
        ["PENDING", "DELIVERED", "FAILED", "UNKNOWN"] } },
      { "name": "final", "type": "boolean" },
      { "name": "source", "type": { "type": "enum", "name": "StatusEventSource", "default": "UNKNOWN", "symbols":
        ["CALLBACK", "POLL", "UNKNOWN"] } },
      { "name": "verified", "type": "boolean" },
      { "name": "updatedAt", "type": ["null", { "type": "long", "logicalType": "timestamp-millis" }], "default": null },
      { "name": "receivedAt", "type": { "type": "long", "logicalType": "timestamp-millis" } }
    ] }'
);

CREATE TABLE messages (
  account STRING NOT NULL,
  id BIGINT NOT NULL,
  `type` STRING NOT NULL,
  correlationId STRING,
  tenant STRING,
  campaign STRING,
  country STRING,
  outcome STRING NOT NULL,
  errorCode STRING,
  hooked BOOLEAN,
  delivery STRING,
  channel STRING,
  verdictStatus STRING,
  verdictSource STRING,
  records INT NOT NULL,
  timesSent INT NOT NULL,
  attempts INT NOT NULL,
  parts INT,
  price DOUBLE,
  commandAt TIMESTAMP(3),
  sentAt TIMESTAMP(3),
  completedAt TIMESTAMP(3) NOT NULL,
  toldAt TIMESTAMP(3),
  updatedAt TIMESTAMP(3) NOT NULL,
  PRIMARY KEY (account, id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'busgate.messages',
  'properties.bootstrap.servers' = 'localhost:9092',
  'properties.compression.type' = 'gzip', -- KafkaJS reads nothing else by itself
  'key.format' = 'avro-confluent',
  'key.avro-confluent.url' = 'http://localhost:8081',
  'key.avro-confluent.schema' = '{
    "type": "record", "name": "MessageKey", "namespace": "io.busgate", "fields": [
      { "name": "account", "type": "string" },
      { "name": "id", "type": "long" }
    ] }',
  'value.format' = 'avro-confluent',
  'value.avro-confluent.url' = 'http://localhost:8081',
  'value.avro-confluent.schema' = '{
    "type": "record", "name": "Message", "namespace": "io.busgate", "doc": "The last state of a message.", "fields": [
      { "name": "account", "type": "string" },
      { "name": "id", "type": "long" },
      { "name": "type", "type": "string", "doc": "Type of the command, for example viber+sms." },
      { "name": "correlationId", "type": ["null", "string"], "default": null },
      { "name": "tenant", "type": ["null", "string"], "default": null },
      { "name": "campaign", "type": ["null", "string"], "default": null },
      { "name": "country", "type": ["null", "string"], "default": null },
      { "name": "outcome", "type": "string",
        "doc": "Of its final results the one that tells most; IN_DOUBT while there is none." },
      { "name": "errorCode", "type": ["null", "string"], "default": null },
      { "name": "hooked", "type": ["null", "boolean"], "default": null,
        "doc": "Whether it had a callback address of its own. Unverified events count only if false." },
      { "name": "delivery", "type": ["null", "string"], "default": null,
        "doc": "DELIVERED, FAILED or UNKNOWN (given up). Null: not told yet." },
      { "name": "channel", "type": ["null", "string"], "default": null, "doc": "The channel that told delivery." },
      { "name": "verdictStatus", "type": ["null", "string"], "default": null, "doc": "Its status, as the gateway wrote it." },
      { "name": "verdictSource", "type": ["null", "string"], "default": null,
        "doc": "CALLBACK or POLL: a polled verdict was told when it was polled." },
      { "name": "records", "type": "int", "doc": "How many commands had this id." },
      { "name": "timesSent", "type": "int", "doc": "How many of them ended as SENT." },
      { "name": "attempts", "type": "int",
        "doc": "Requests that were executed or may have been. More than timesSent: perhaps billed more often." },
      { "name": "parts", "type": ["null", "int"], "default": null, "doc": "Parts billed, of all commands of this id." },
      { "name": "price", "type": ["null", "double"], "default": null, "doc": "Fees, of all commands of this id." },
      { "name": "commandAt", "type": ["null", { "type": "long", "logicalType": "timestamp-millis" }], "default": null },
      { "name": "sentAt", "type": ["null", { "type": "long", "logicalType": "timestamp-millis" }], "default": null },
      { "name": "completedAt", "type": { "type": "long", "logicalType": "timestamp-millis" },
        "doc": "When the outcome was decided." },
      { "name": "toldAt", "type": ["null", { "type": "long", "logicalType": "timestamp-millis" }], "default": null,
        "doc": "When delivery was told, by the clock of the gateway where it gave a time." },
      { "name": "updatedAt", "type": { "type": "long", "logicalType": "timestamp-millis" },
        "doc": "When the last result or event that counts was learnt." }
    ] }'
);

-- In rare failures of a broker a result is there twice, alike in all but its place.
CREATE VIEW record_results AS
SELECT *
FROM (
  SELECT *, ROW_NUMBER() OVER (
    PARTITION BY commandTopic, commandPartition, commandOffset, `final` ORDER BY arrival
  ) AS nth
  FROM results
)
WHERE nth = 1;

-- Results and events side by side. What competes with others of the same message is a text of its rank, its time and its
-- facts: the least counts, in whatever order they come.
CREATE VIEW facts AS
SELECT account, id, completedAt AS learntAt, TRUE AS trusted,
  CONCAT_WS('/', commandTopic, CAST(commandPartition AS STRING), CAST(commandOffset AS STRING)) AS record,
  CASE WHEN outcome = 'SENT' THEN 1 ELSE 0 END AS sent,
  CASE WHEN `final` AND outcome <> 'REJECTED' THEN attempts ELSE 0 END AS attempts,
  parts,
  CAST(price AS DECIMAL(20, 6)) AS price,
  CASE WHEN outcome <> 'DUPLICATE' THEN -- it tells nothing of the id
    CONCAT(
      CASE
        WHEN NOT `final` THEN '7'
        WHEN outcome = 'SENT' THEN '1'
        WHEN outcome = 'UNRESOLVED' THEN '2'
        WHEN outcome = 'REJECTED' THEN '3'
        WHEN outcome = 'EXPIRED' THEN '4'
        WHEN outcome = 'INVALID' THEN '5'
        ELSE '6'
      END,
      DATE_FORMAT(completedAt, 'yyyy-MM-dd HH:mm:ss.SSS'),
      JSON_OBJECT(
        'type' VALUE `type`, 'correlationId' VALUE correlationId, 'tenant' VALUE tenant, 'campaign' VALUE campaign,
        'country' VALUE country, 'outcome' VALUE outcome, 'errorCode' VALUE errorCode, 'hooked' VALUE hooked,
        'commandAt' VALUE CAST(commandAt AS STRING), 'sentAt' VALUE CAST(sentAt AS STRING)
      )
    )
  END AS outcome,
  CAST(NULL AS STRING) AS event
FROM record_results
UNION ALL
SELECT account, id, receivedAt, verified, CAST(NULL AS STRING), 0, 0, CAST(NULL AS INT), CAST(NULL AS DECIMAL(20, 6)),
  CAST(NULL AS STRING),
  CONCAT(
    CASE
      WHEN state = 'DELIVERED' AND verified THEN '1'
      WHEN state = 'FAILED' AND verified THEN '2'
      WHEN state = 'DELIVERED' THEN '3'
      WHEN state = 'FAILED' THEN '4'
      ELSE '5' -- given up
    END,
    DATE_FORMAT(COALESCE(updatedAt, receivedAt), 'yyyy-MM-dd HH:mm:ss.SSS'),
    JSON_OBJECT('source' VALUE source, 'state' VALUE state, 'status' VALUE status, 'type' VALUE `type`)
  )
FROM statuses
WHERE `final`;

-- What is not verified counts only for a message without a hook of its own.
CREATE VIEW last_states AS
SELECT account, id, records, timesSent, attempts, parts, price, outcome, SUBSTRING(outcome, 25) AS answer,
  CASE WHEN unhooked THEN event ELSE trusted_event END AS event,
  CASE WHEN unhooked THEN learntAt ELSE trusted_learntAt END AS updatedAt
FROM (
  SELECT *, COALESCE(JSON_VALUE(SUBSTRING(outcome, 25), '$.hooked'), '') = 'false' AS unhooked
  FROM (
    SELECT account, id,
      CAST(COUNT(DISTINCT record) AS INT) AS records,
      SUM(sent) AS timesSent,
      SUM(attempts) AS attempts,
      SUM(parts) AS parts,
      SUM(price) AS price,
      MIN(outcome) AS outcome,
      MIN(event) AS event,
      MIN(event) FILTER (WHERE trusted) AS trusted_event,
      MAX(learntAt) AS learntAt,
      MAX(learntAt) FILTER (WHERE trusted) AS trusted_learntAt
    FROM facts
    GROUP BY account, id
  )
);

INSERT INTO messages
SELECT account, id,
  JSON_VALUE(answer, '$.type'),
  JSON_VALUE(answer, '$.correlationId'),
  JSON_VALUE(answer, '$.tenant'),
  JSON_VALUE(answer, '$.campaign'),
  JSON_VALUE(answer, '$.country'),
  JSON_VALUE(answer, '$.outcome'),
  JSON_VALUE(answer, '$.errorCode'),
  CAST(JSON_VALUE(answer, '$.hooked') AS BOOLEAN),
  JSON_VALUE(SUBSTRING(event, 25), '$.state'),
  JSON_VALUE(SUBSTRING(event, 25), '$.type'),
  JSON_VALUE(SUBSTRING(event, 25), '$.status'),
  JSON_VALUE(SUBSTRING(event, 25), '$.source'),
  records,
  timesSent,
  attempts,
  parts,
  CAST(price AS DOUBLE),
  CAST(JSON_VALUE(answer, '$.commandAt') AS TIMESTAMP(3)),
  CAST(JSON_VALUE(answer, '$.sentAt') AS TIMESTAMP(3)),
  CAST(SUBSTRING(outcome, 2, 23) AS TIMESTAMP(3)),
  CAST(SUBSTRING(event, 2, 23) AS TIMESTAMP(3)),
  updatedAt
FROM last_states;
