"""Sends one SMS through busgate and prints its results: python send.py ID PHONE TEXT"""

import json
import os
import re
import sys
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

BROKERS = os.environ.get("KAFKA_BROKERS", "localhost:9092")
REGISTRY = SchemaRegistryClient({"url": os.environ.get("REGISTRY_URL", "http://localhost:8081")})
COMMANDS = os.environ.get("COMMANDS_TOPIC", "busgate.commands")
RESULTS = os.environ.get("RESULTS_TOPIC", "busgate.results")
SCHEMA_FILE = Path(__file__).parents[2] / "schemas" / "send-command.avsc"
# Without spaces, as busgate registers it: Apicurio looks schemas up by their text.
SCHEMA = json.dumps(json.loads(SCHEMA_FILE.read_text()), separators=(",", ":"))

PRODUCER = {
    "bootstrap.servers": BROKERS,
    "enable.idempotence": True,  # acks=all, and a retried record is written once
    "partitioner": "murmur2_random",  # as in Java and busgate; librdkafka's default is another
}
SERIALIZER = {
    "auto.register.schemas": False,  # busgate's operator registers them
    "validate.strict.allow.default": True,  # an unknown field is an error, instead of being dropped
}


def send(command: dict) -> None:
    """Returns when every in-sync replica holds the command."""
    serialize = AvroSerializer(REGISTRY, SCHEMA, conf=SERIALIZER)
    producer = Producer(PRODUCER)
    value = serialize(command, SerializationContext(COMMANDS, MessageField.VALUE))
    producer.produce(COMMANDS, key=str(command["id"]), value=value, on_delivery=delivered)
    producer.flush()


def delivered(error, _message) -> None:
    """Raises the error. The command was perhaps written: send it again with the same id and text."""
    if error is not None:
        raise KafkaException(error)


def results_of(id: int):
    """The results of one command, up to the final one."""
    deserialize = AvroDeserializer(REGISTRY)
    consumer = Consumer({
        "bootstrap.servers": BROKERS,
        "group.id": "example-python",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",  # librdkafka's default, named because it must not change
        "enable.auto.offset.store": False,
    })
    consumer.subscribe([RESULTS])
    try:
        while True:
            message = consumer.poll(1)
            if message is None:
                continue
            if message.error():
                raise KafkaException(message.error())
            result = deserialize(message.value(), SerializationContext(RESULTS, MessageField.VALUE))
            consumer.store_offsets(message)  # processed: the next commit may include it
            if result["id"] == id:
                yield result
                if result["final"]:  # DUPLICATE: the result of the first command with this id is elsewhere in the topic
                    return
    finally:
        consumer.close()


def main(id: str, phone: str, text: str) -> None:
    if not re.fullmatch("[1-9][0-9]{0,14}", phone):  # int() drops the zero: 0671234567 would become somebody else's phone
        sys.exit("Nothing was sent: PHONE must be digits only, in international format such as 380671234567.")
    sms = {"sms_message": text, "sms_signature": "Shop"}
    # Names the record of the union; without it fastavro guesses.
    send({"id": int(id), "phone": int(phone), "message": ("io.busgate.Sms", sms), "correlationId": "example-python"})
    for result in results_of(int(id)):
        print(result["id"], result["outcome"], result["errorCode"] or result["msgId"])


if __name__ == "__main__":
    main(*sys.argv[1:])
