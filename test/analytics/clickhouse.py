"""Runs examples/analytics/clickhouse in chDB, ClickHouse's engine without its server: prints messages and the report as CSV.

chDB has no threads for the Kafka engine, and refuses its tables. A Null table takes its place, and gets the bytes of the topics in the same format.
"""

import os
import re
import sys
from pathlib import Path

from chdb.session import Session
from confluent_kafka import Consumer, KafkaError, TopicPartition

BROKERS, REGISTRY = os.environ["KAFKA_BROKERS"], os.environ["REGISTRY_URL"]


def main(folder: Path, scratch: Path) -> None:
    session = Session(str(scratch / "database"))
    tables = (folder / "clickhouse/tables.sql").read_text()
    for statement in statements(re.sub(r"ENGINE = Kafka SETTINGS.*?;", "ENGINE = Null;", tables, flags=re.DOTALL)):
        session.query(statement)
    # Two files, as of two blocks of the Kafka engine; each record is read with the schema that it names.
    for table in ("results", "statuses"):
        values = records(os.environ[f"{table.upper()}_TOPIC"])
        for block in (values[: len(values) // 2], values[len(values) // 2 :]):
            file = scratch / "block.avro"
            file.write_bytes(b"".join(block))
            settings = f"format_avro_schema_registry_url = '{REGISTRY}', input_format_avro_allow_missing_fields = 1"
            session.query(f"INSERT INTO {table}_queue SELECT * FROM file('{file}', AvroConfluent) SETTINGS {settings}")
    made = (folder / "clickhouse/make.sql").read_text() + (folder / "messages.sql").read_text()
    for statement in statements(made):
        session.query(statement)
    print(session.query("SELECT * FROM messages", "CSVWithNames").data())
    for question in statements((folder / "report.sql").read_text()):
        print(session.query(question, "CSVWithNames").data())


def statements(text: str) -> list[str]:
    return [one for one in text.split(";\n") if one.strip()]


def records(topic: str) -> list[bytes]:
    settings = {"bootstrap.servers": BROKERS, "group.id": "analytics-test", "isolation.level": "read_committed"}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    partitions = set(consumer.list_topics(topic, 10).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    values = []
    while partitions:
        record = consumer.poll(1)
        if record is None:
            continue
        if record.error() is None:
            values.append(record.value())
        elif record.error().code() == KafkaError._PARTITION_EOF:
            partitions.discard(record.partition())
        else:
            raise RuntimeError(record.error())
    consumer.close()
    return values


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
