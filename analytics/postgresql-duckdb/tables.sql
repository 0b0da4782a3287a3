-- A row a record of each topic, with the fields that reports need; times in UTC. load.py copies every field that has a column here.

CREATE TABLE IF NOT EXISTS results (
  kafka_partition INTEGER NOT NULL,
  kafka_offset BIGINT NOT NULL,
  command_topic TEXT NOT NULL,
  command_partition INTEGER NOT NULL,
  command_offset BIGINT NOT NULL,
  account TEXT NOT NULL,
  id BIGINT NOT NULL,
  tenant TEXT,
  campaign TEXT,
  country TEXT,
  type TEXT NOT NULL,
  outcome TEXT NOT NULL,
  final BOOLEAN NOT NULL,
  error_code TEXT,
  hooked BOOLEAN,
  attempts INTEGER NOT NULL,
  parts INTEGER,
  price DOUBLE PRECISION,
  command_at TIMESTAMP,
  sent_at TIMESTAMP,
  completed_at TIMESTAMP NOT NULL
);

CREATE TABLE IF NOT EXISTS statuses (
  kafka_partition INTEGER NOT NULL,
  kafka_offset BIGINT NOT NULL,
  account TEXT NOT NULL,
  id BIGINT NOT NULL,
  type TEXT NOT NULL,
  status TEXT NOT NULL,
  state TEXT NOT NULL,
  final BOOLEAN NOT NULL,
  source TEXT NOT NULL,
  verified BOOLEAN NOT NULL,
  updated_at TIMESTAMP,
  received_at TIMESTAMP NOT NULL
);

-- Where load.py continues. Rows of the other tables may be deleted: they are not copied again.
CREATE TABLE IF NOT EXISTS positions (
  copied_into TEXT NOT NULL,
  kafka_partition INTEGER NOT NULL,
  next_offset BIGINT NOT NULL,
  topic TEXT NOT NULL,
  topic_id TEXT NOT NULL,
  PRIMARY KEY (copied_into, kafka_partition)
);
