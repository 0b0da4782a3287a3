-- Names of the queues' columns are those of the Avro fields; times are in UTC. The Kafka engine reads committed records only,
-- each at least once: messages.sql counts a record that is there twice once.

CREATE TABLE IF NOT EXISTS results_queue (
  commandTopic String, commandPartition Int32, commandOffset Int64,
  account String, id Int64,
  tenant Nullable(String), campaign Nullable(String), country Nullable(String),
  type String, outcome String, final Bool, errorCode Nullable(String), hooked Nullable(Bool),
  attempts Int32, parts Nullable(Int32), price Nullable(Float64),
  commandAt Nullable(DateTime64(3, 'UTC')), sentAt Nullable(DateTime64(3, 'UTC')), completedAt DateTime64(3, 'UTC')
) ENGINE = Kafka SETTINGS
  kafka_broker_list = 'localhost:9092', kafka_topic_list = 'busgate.results', kafka_group_name = 'clickhouse-results',
  kafka_format = 'AvroConfluent', format_avro_schema_registry_url = 'http://localhost:8081',
  input_format_avro_allow_missing_fields = 1; -- records of an older schema lack the newer fields

CREATE TABLE IF NOT EXISTS statuses_queue (
  account String, id Int64, type String, status String, state String, final Bool, source String, verified Bool,
  updatedAt Nullable(DateTime64(3, 'UTC')), receivedAt DateTime64(3, 'UTC')
) ENGINE = Kafka SETTINGS
  kafka_broker_list = 'localhost:9092', kafka_topic_list = 'busgate.statuses', kafka_group_name = 'clickhouse-statuses',
  kafka_format = 'AvroConfluent', format_avro_schema_registry_url = 'http://localhost:8081',
  input_format_avro_allow_missing_fields = 1;

CREATE TABLE IF NOT EXISTS results (
  command_topic LowCardinality(String), command_partition Int32, command_offset Int64,
  account LowCardinality(String), id Int64,
  tenant LowCardinality(Nullable(String)), campaign LowCardinality(Nullable(String)), country LowCardinality(Nullable(String)),
  type LowCardinality(String), outcome LowCardinality(String), final Bool, error_code LowCardinality(Nullable(String)),
  hooked Nullable(Bool), attempts Int32, parts Nullable(Int32), price Nullable(Float64),
  command_at Nullable(DateTime64(3, 'UTC')), sent_at Nullable(DateTime64(3, 'UTC')), completed_at DateTime64(3, 'UTC')
) ENGINE = MergeTree ORDER BY (account, id);

CREATE TABLE IF NOT EXISTS statuses (
  account LowCardinality(String), id Int64, type LowCardinality(String), status LowCardinality(String),
  state LowCardinality(String), final Bool, source LowCardinality(String), verified Bool,
  updated_at Nullable(DateTime64(3, 'UTC')), received_at DateTime64(3, 'UTC')
) ENGINE = MergeTree ORDER BY (account, id);

CREATE MATERIALIZED VIEW IF NOT EXISTS results_copy TO results AS
SELECT commandTopic AS command_topic, commandPartition AS command_partition, commandOffset AS command_offset,
  account, id, tenant, campaign, country, type, outcome, final, errorCode AS error_code, hooked, attempts, parts, price,
  commandAt AS command_at, sentAt AS sent_at, completedAt AS completed_at
FROM results_queue;

CREATE MATERIALIZED VIEW IF NOT EXISTS statuses_copy TO statuses AS
SELECT account, id, type, status, state, final, source, verified, updatedAt AS updated_at, receivedAt AS received_at
FROM statuses_queue;
