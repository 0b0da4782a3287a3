"""Copies commands, results and statuses into a SQLite file: python3 load.py FILE. It goes on where it ended before."""

import os
import sqlite3
import sys
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError

COMMANDS = os.environ.get("COMMANDS_TOPIC", "busgate.commands.otp,busgate.commands").split(",")
RESULTS = os.environ.get("RESULTS_TOPIC", "busgate.results")
STATUSES = os.environ.get("STATUSES_TOPIC", "busgate.statuses")
CONSUMER = {
    "bootstrap.servers": os.environ.get("KAFKA_BROKERS", "localhost:9092"),
    "group.id": "example-analytics",  # has to be named, and keeps nothing: the file does
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",  # where the log has been deleted meanwhile
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 100,  # the end of a topic is told as late as this
}
BATCH = 10_000
FOLDER = Path(__file__).parent


def main(file: str) -> None:
    registry = SchemaRegistryClient({"url": os.environ.get("REGISTRY_URL", "http://localhost:8081")})
    deserialize = AvroDeserializer(registry, return_record_name=True)
    with closing(sqlite3.connect(file)) as database, closing(Consumer(CONSUMER)) as consumer:
        database.executescript((FOLDER / "tables.sql").read_text() + (FOLDER / "views.sql").read_text())
        for topic in COMMANDS:
            copy(topic, "commands", command_row, deserialize, consumer, database)
        copy(RESULTS, "results", result_row, deserialize, consumer, database)
        copy(STATUSES, "statuses", status_row, deserialize, consumer, database)


def copy(topic, table, row_of, deserialize, consumer, database) -> None:
    """Up to the end of the topic, as of now. Rows and progress are one transaction, so nothing is there twice."""
    known = dict(database.execute("SELECT at_partition, next_offset FROM progress WHERE topic = ?", [topic]))
    open_partitions = set(consumer.list_topics(topic, 10).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, p, known.get(p, 0)) for p in open_partitions])
    while open_partitions:
        rows, progress = [], {}
        for message in consumer.consume(BATCH, 0.2):
            if message.error() is None:
                progress[message.partition()] = message.offset() + 1
                rows += readable(message, row_of, deserialize)
            elif message.error().code() == KafkaError._PARTITION_EOF:
                open_partitions.discard(message.partition())
            else:
                raise KafkaException(message.error())
        with database:
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                database.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
            database.executemany(
                "INSERT OR REPLACE INTO progress VALUES (?, ?, ?)", [(topic, p, at) for p, at in progress.items()]
            )


def readable(message, row_of, deserialize) -> list:
    """Nothing for what cannot be read: of a command that is one, busgate writes a dead letter."""
    try:
        value = deserialize(message.value(), SerializationContext(message.topic(), MessageField.VALUE))
        return [] if value is None else [row_of(message, value)]
    except SchemaRegistryError as error:
        if error.http_status_code != 404:  # the registry is there and does not know the schema
            raise
    except (SerializationError, EOFError, IndexError, ValueError):
        pass
    print(f"passed over {message.topic()}/{message.partition()}, offset {message.offset()}", file=sys.stderr)
    return []


def command_row(message, value) -> tuple:
    written_at = datetime.fromtimestamp(message.timestamp()[1] / 1000, timezone.utc)
    record_name, _ = value["message"]
    return (
        *(message.topic(), message.partition(), message.offset(), text(written_at)),
        *(value["id"], value["account"], record_name, value["tenant"], value["correlationId"]),
    )


def result_row(message, value) -> tuple:
    return (
        *(message.partition(), message.offset()),
        *(value["commandTopic"], value["commandPartition"], value["commandOffset"]),
        *(value["id"], value["account"], value["type"], value["outcome"], value["final"], value["errorCode"]),
        *(value["parts"], value["price"], value["attempts"], text(value["sentAt"]), text(value["completedAt"])),
        value["hooked"],
    )


def status_row(message, value) -> tuple:
    return (
        *(message.partition(), message.offset(), value["id"], value["account"]),
        *(value["status"], value["state"], value["final"], value["verified"], value["source"]),
        text(value["updatedAt"] or value["receivedAt"]),
    )


def text(moment: datetime | None) -> str | None:
    """As SQLite understands it, in UTC."""
    return moment and moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


if __name__ == "__main__":
    main(*sys.argv[1:])
