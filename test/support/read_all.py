"""Prints every record of the topics that the arguments name, as a JSON line, as confluent-kafka reads it by itself."""

import json
import sys

import send
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

DESERIALIZE = AvroDeserializer(send.REGISTRY)
CONSUMER = Consumer({"bootstrap.servers": send.BROKERS, "group.id": "read-all", "enable.partition.eof": True})


def value_of(message, headers):
    if "busgate.error.stage" in headers:
        return message.value().hex()
    return DESERIALIZE(message.value(), SerializationContext(message.topic(), MessageField.VALUE))


def records_of(topic: str):
    CONSUMER.assign([TopicPartition(topic, 0, 0)])
    while True:
        message = CONSUMER.poll(30)
        if message is None:
            sys.exit(f"{topic} does not end")
        if message.error():
            return
        yield message


for topic in sys.argv[1:]:
    for message in records_of(topic):
        headers = {name: text.decode() for name, text in message.headers() or [] if name.startswith("busgate.")}
        print(json.dumps({"topic": topic, "headers": headers, "value": value_of(message, headers)}, default=str))
