-- One row a message, as on busgate.messages; times in UTC.
CREATE TABLE IF NOT EXISTS messages (
  account TEXT NOT NULL,
  id BIGINT NOT NULL,
  type TEXT NOT NULL,
  correlation_id TEXT,
  tenant TEXT,
  campaign TEXT,
  country TEXT,
  outcome TEXT NOT NULL,
  error_code TEXT,
  hooked BOOLEAN,
  delivery TEXT,
  channel TEXT,
  records INTEGER NOT NULL,
  times_sent INTEGER NOT NULL,
  parts INTEGER,
  price DOUBLE PRECISION,
  command_at TIMESTAMP,
  sent_at TIMESTAMP,
  completed_at TIMESTAMP NOT NULL,
  told_at TIMESTAMP,
  updated_at TIMESTAMP NOT NULL,
  seconds DOUBLE PRECISION GENERATED ALWAYS AS (extract(epoch FROM told_at - sent_at)) STORED,
  PRIMARY KEY (account, id)
);

-- One row a record of the other two topics. Debezium gives the three columns of its place their names.
CREATE TABLE IF NOT EXISTS results (
  __connect_topic TEXT NOT NULL,
  __connect_partition INTEGER NOT NULL,
  __connect_offset BIGINT NOT NULL,
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
  parts INTEGER,
  price DOUBLE PRECISION,
  command_at TIMESTAMP,
  sent_at TIMESTAMP,
  completed_at TIMESTAMP NOT NULL,
  PRIMARY KEY (__connect_topic, __connect_partition, __connect_offset)
);

CREATE TABLE IF NOT EXISTS statuses (
  __connect_topic TEXT NOT NULL,
  __connect_partition INTEGER NOT NULL,
  __connect_offset BIGINT NOT NULL,
  account TEXT NOT NULL,
  id BIGINT NOT NULL,
  type TEXT NOT NULL,
  status TEXT NOT NULL,
  state TEXT NOT NULL,
  final BOOLEAN NOT NULL,
  verified BOOLEAN NOT NULL,
  updated_at TIMESTAMP,
  received_at TIMESTAMP NOT NULL,
  PRIMARY KEY (__connect_topic, __connect_partition, __connect_offset)
);
