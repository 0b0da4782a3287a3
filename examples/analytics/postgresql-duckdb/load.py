"""Copies results and statuses into a database, from where it ended before: python3 load.py postgresql://…|FILE.duckdb"""

import json
import os
import re
import sys
from datetime import datetime
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

TOPICS = {
    "results": os.environ.get("RESULTS_TOPIC", "busgate.results"),
    "statuses": os.environ.get("STATUSES_TOPIC", "busgate.statuses"),
}
CONSUMER = {
    "bootstrap.servers": os.environ.get("KAFKA_BROKERS", "localhost:9092"),
    "group.id": "example-analytics",  # has to be named, and keeps nothing: the database does
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",  # where the log has been deleted meanwhile
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 100,  # the end of a topic is told as late as this
}
BATCH = 10_000
TABLES = Path(__file__).with_name("tables.sql").read_text()


class PostgreSQL:
    def __init__(self, address: str) -> None:
        import psycopg

        self.execute = psycopg.connect(address, autocommit=True).execute

    def insert(self, table: str, rows: list[dict]) -> None:
        rows_of_json = f"SELECT * FROM json_populate_recordset(NULL::{table}, %s)"
        self.execute(f"INSERT INTO {table} {rows_of_json}", [json.dumps(rows)])


class DuckDB:
    def __init__(self, file: str) -> None:
        import duckdb

        self.execute = duckdb.connect(file).execute

    def insert(self, table: str, rows: list[dict]) -> None:
        columns = self.execute(f"SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = '{table}'")
        types = json.dumps([dict(columns.fetchall())])
        rows_of_json = f"SELECT unnest(from_json(?, '{types}'), recursive := true)"
        self.execute(f"INSERT INTO {table} BY NAME {rows_of_json}", [json.dumps(rows)])


def main(address: str) -> None:
    database = PostgreSQL(address) if address.startswith("postgresql:") else DuckDB(address)
    database.execute(TABLES)
    registry = SchemaRegistryClient({"url": os.environ.get("REGISTRY_URL", "http://localhost:8081")})
    deserialize = AvroDeserializer(registry)
    consumer = Consumer(CONSUMER)
    for table, topic in TOPICS.items():
        copy(topic, table, deserialize, consumer, database)
    consumer.close()


def copy(topic, table, deserialize, consumer, database) -> None:
    """Up to the end of the topic, as of now. The rows tell how far they go, so nothing is there twice."""
    ends = database.execute(f"SELECT kafka_partition, max(kafka_offset) FROM {table} GROUP BY kafka_partition")
    last_offsets = dict(ends.fetchall())
    open_partitions = set(consumer.list_topics(topic, 10).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, p, last_offsets.get(p, -1) + 1) for p in open_partitions])
    while open_partitions:
        rows = []
        for record in consumer.consume(BATCH, 0.2):
            if record.error() is None:
                # The deserializer reads each record with the schema whose id it carries.
                value = deserialize(record.value(), SerializationContext(topic, MessageField.VALUE))
                place = {"kafka_partition": record.partition(), "kafka_offset": record.offset()}
                rows.append({**place, **columns_of(value)})
            elif record.error().code() == KafkaError._PARTITION_EOF:
                open_partitions.discard(record.partition())
            else:
                raise KafkaException(record.error())
        if rows:
            database.insert(table, rows)


def columns_of(value: dict) -> dict:
    """The fields by the names of columns: commandAt is command_at. Nested ones have none."""
    return {
        re.sub("([A-Z])", r"_\1", name).lower(): field.strftime("%F %T.%f") if isinstance(field, datetime) else field
        for name, field in value.items()
        if not isinstance(field, (dict, list))
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
