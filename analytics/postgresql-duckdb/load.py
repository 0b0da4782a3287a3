"""Copies results and statuses into a database, from where it ended before: python3 load.py postgresql://…|FILE.duckdb"""

import json
import os
import re
import sys
from datetime import datetime
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext


def settings_in(file: str | None) -> dict[str, str]:
    """The lines name=value of a file of settings."""
    lines = Path(file).read_text().splitlines() if file else []
    pairs = [line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")]
    return {name.strip(): value.strip() for name, value in pairs}


TOPICS = {
    "results": os.environ.get("RESULTS_TOPIC", "busgate.results"),
    "statuses": os.environ.get("STATUSES_TOPIC", "busgate.statuses"),
}
KAFKA = {
    "bootstrap.servers": os.environ.get("KAFKA_BROKERS", "localhost:9092"),
    **settings_in(os.environ.get("KAFKA_SETTINGS")),
}
REGISTRY = {
    "url": os.environ.get("REGISTRY_URL", "http://localhost:8081"),
    **settings_in(os.environ.get("REGISTRY_SETTINGS")),
}
CONSUMER = {
    **KAFKA,
    "group.id": "example-analytics",  # has to be named, and keeps nothing: the database does
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",  # where the log has been deleted meanwhile
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 100,  # the end of a topic is told as late as this
}
BATCH = 10_000
LOCK = 7_261_023  # any number that no other program locks in this database
TABLES = Path(__file__).with_name("tables.sql").read_text()


class PostgreSQL:
    def __init__(self, address: str) -> None:
        import psycopg

        self.connection = psycopg.connect(address, autocommit=True)
        self.execute = self.connection.execute
        if not self.execute(f"SELECT pg_try_advisory_lock({LOCK})").fetchone()[0]:
            sys.exit("Nothing was copied: another load.py is still copying into this database.")
        self.execute(TABLES)

    def insert(self, table: str, rows: list[dict]) -> None:
        rows_of_json = f"SELECT * FROM json_populate_recordset(NULL::{table}, %s)"
        self.execute(f"INSERT INTO {table} {rows_of_json}", [json.dumps(rows)])


class DuckDB:
    def __init__(self, file: str) -> None:
        import duckdb

        self.execute = duckdb.connect(file).execute  # fails while another process has the file open
        self.execute(TABLES)

    def insert(self, table: str, rows: list[dict]) -> None:
        columns = self.execute(f"SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = '{table}'")
        types = json.dumps([dict(columns.fetchall())])
        rows_of_json = f"SELECT unnest(from_json(?, '{types}'), recursive := true)"
        self.execute(f"INSERT INTO {table} BY NAME {rows_of_json}", [json.dumps(rows)])


def main(address: str) -> None:
    admin = AdminClient(KAFKA)
    topic_ids = {topic: topic_id_of(topic, admin) for topic in TOPICS.values()}
    database = PostgreSQL(address) if re.match("postgres(ql)?:", address) else DuckDB(address)
    for table, topic in TOPICS.items():
        refuse_other_topic(database, table, topic, topic_ids[topic])
    deserialize = AvroDeserializer(SchemaRegistryClient(REGISTRY))
    consumer = Consumer(CONSUMER)
    for table, topic in TOPICS.items():
        copied = copy(topic, topic_ids[topic], table, deserialize, consumer, database)
        print(f"{topic}: {copied} records copied into {table}")
    consumer.close()


def topic_id_of(topic: str, admin: AdminClient) -> str:
    """A topic that is deleted and created again has another id."""
    try:
        return str(admin.describe_topics(TopicCollection([topic]), request_timeout=15)[topic].result().topic_id)
    except KafkaException as error:
        told = f"topic {topic} of {KAFKA['bootstrap.servers']}: {error.args[0].str()}"
        sys.exit(f"Nothing was copied: {told} (RESULTS_TOPIC and STATUSES_TOPIC name the topics)")


def refuse_other_topic(database, table: str, topic: str, topic_id: str) -> None:
    known = database.execute(f"SELECT DISTINCT topic, topic_id FROM positions WHERE copied_into = '{table}'")
    for held, held_id in known.fetchall():
        if held != topic:
            sys.exit(f"Nothing was copied: use another database, because this one holds {held}, not {topic}")
        if held_id != topic_id:
            sys.exit(f"Nothing was copied: use another database, because {topic} was deleted and created again")


def copy(topic, topic_id, table, deserialize, consumer, database) -> int:
    """Up to the end of the topic, as of now. Rows and positions are committed together, so nothing is there twice."""
    known = database.execute(f"SELECT kafka_partition, next_offset FROM positions WHERE copied_into = '{table}'")
    positions = dict(known.fetchall())
    open_partitions = set(consumer.list_topics(topic, 10).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, p, positions.get(p, 0)) for p in open_partitions])
    copied = 0
    while open_partitions:
        rows = []
        for record in consumer.consume(BATCH, 0.2):
            if record.error() is None:
                # The deserializer reads each record with the schema whose id it carries.
                value = deserialize(record.value(), SerializationContext(topic, MessageField.VALUE))
                place = {"kafka_partition": record.partition(), "kafka_offset": record.offset()}
                rows.append({**place, **columns_of(value)})
                positions[record.partition()] = record.offset() + 1
            elif record.error().code() == KafkaError._PARTITION_EOF:
                open_partitions.discard(record.partition())
            else:
                raise KafkaException(record.error())
        if rows:
            database.execute("BEGIN")
            database.insert(table, rows)
            for partition, next_offset in positions.items():
                row = f"'{table}', {partition}, {next_offset}, '{topic}', '{topic_id}'"
                update = "ON CONFLICT (copied_into, kafka_partition) DO UPDATE SET next_offset = excluded.next_offset"
                database.execute(f"INSERT INTO positions VALUES ({row}) {update}")
            database.execute("COMMIT")
            copied += len(rows)
    return copied


def columns_of(value: dict) -> dict:
    """The fields by the names of columns: commandAt is command_at. Nested ones become JSON text."""
    return {
        re.sub("([A-Z])", r"_\1", name).lower(): field.strftime("%F %T.%f") if isinstance(field, datetime) else field
        for name, field in value.items()
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
