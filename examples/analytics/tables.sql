-- One row a record, as it stands on its topic. Texts and phones are left out: nothing here needs them.

CREATE TABLE IF NOT EXISTS commands (
  command_topic TEXT,
  command_partition INTEGER,
  command_offset INTEGER,
  written_at TEXT,
  id INTEGER,
  account TEXT,
  message TEXT,
  tenant TEXT,
  correlation_id TEXT,
  PRIMARY KEY (command_topic, command_partition, command_offset)
);

CREATE TABLE IF NOT EXISTS results (
  at_partition INTEGER,
  at_offset INTEGER,
  command_topic TEXT,
  command_partition INTEGER,
  command_offset INTEGER,
  id INTEGER,
  account TEXT,
  type TEXT,
  outcome TEXT,
  final BOOLEAN,
  error_code TEXT,
  parts INTEGER,
  price REAL,
  attempts INTEGER,
  sent_at TEXT,
  completed_at TEXT,
  hooked BOOLEAN, -- whether callbacks came to an address of the message's own; null: not known
  PRIMARY KEY (at_partition, at_offset)
);

CREATE TABLE IF NOT EXISTS statuses (
  at_partition INTEGER,
  at_offset INTEGER,
  id INTEGER,
  account TEXT,
  status TEXT,
  state TEXT,
  final BOOLEAN,
  verified BOOLEAN,
  source TEXT,
  told_at TEXT,
  PRIMARY KEY (at_partition, at_offset)
);

-- Where to go on reading.
CREATE TABLE IF NOT EXISTS progress (
  topic TEXT,
  at_partition INTEGER,
  next_offset INTEGER,
  PRIMARY KEY (topic, at_partition)
);
