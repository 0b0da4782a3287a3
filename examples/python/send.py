"""Sends one SMS through busgate, prints its results, and whether it was delivered: python send.py ID PHONE TEXT"""

import json
import math
import os
import re
import sys
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from seal import first_key, seal

BROKERS = os.environ.get("KAFKA_BROKERS", "localhost:9092")
REGISTRY = SchemaRegistryClient({"url": os.environ.get("REGISTRY_URL", "http://localhost:8081")})
COMMANDS = os.environ.get("COMMANDS_TOPIC", "busgate.commands")
RESULTS = os.environ.get("RESULTS_TOPIC", "busgate.results")
STATUSES = os.environ.get("STATUSES_TOPIC", "busgate.statuses")
VERDICT_SECONDS = float(os.environ.get("VERDICT_SECONDS", "60"))
PUBLIC_KEYS = os.environ.get("PUBLIC_KEYS")  # if set, the text is sealed: only busgate's workers read it
DELAY_SECONDS = float(os.environ.get("DELAY_SECONDS", "0"))  # after which the message is sent
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
    if DELAY_SECONDS > 0:
        command = {**command, "notBefore": int((time.time() + DELAY_SECONDS) * 1000)}
    serialize = AvroSerializer(REGISTRY, SCHEMA, conf=SERIALIZER)
    producer = Producer(PRODUCER)
    value = serialize(command, SerializationContext(COMMANDS, MessageField.VALUE))
    producer.produce(COMMANDS, key=str(command["id"]), value=value, on_delivery=delivered)
    producer.flush()


def delivered(error, _message) -> None:
    """Raises the error. The command was perhaps written: send it again with the same id and text."""
    if error is not None:
        raise KafkaException(error)


def find(topic: str, id: int, is_wanted, seconds: float = math.inf):
    """The first record about a message that is wanted; None if there is none in so many seconds."""
    deserialize = AvroDeserializer(REGISTRY)
    consumer = Consumer({
        "bootstrap.servers": BROKERS,
        "group.id": f"example-python-{topic}",  # all members of a group should read the same topics
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",  # librdkafka's default, named because it must not change
        "enable.auto.offset.store": False,
    })
    consumer.subscribe([topic])
    key = str(id).encode()  # of its command, its results and its statuses
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            message = consumer.poll(1)
            if message is None:
                continue
            if message.error():
                raise KafkaException(message.error())
            is_found = False
            if message.key() == key:
                record = deserialize(message.value(), SerializationContext(topic, MessageField.VALUE))
                is_found = is_wanted(record)
            consumer.store_offsets(message)  # processed: the next commit may include it
            if is_found:
                return record
    finally:
        consumer.close()
    return None


def final_result(id: int):
    """Prints the results of a command, up to the final one, and returns that."""

    def show(result: dict) -> bool:
        print(result["id"], result["outcome"], result["errorCode"] or result["msgId"])
        return result["final"]  # DUPLICATE: the result of the first command with this id is elsewhere in the topic

    return find(RESULTS, id, show)


def verdict_on(result: dict):
    """The first status event with a verdict on a message (docs/statuses.md); None if none comes in time."""

    def is_verdict(event: dict) -> bool:
        # Unverified events count only for a message without its own hook: anyone who knows the account's address can
        # make them up.
        is_believed = event["verified"] or result["hooked"] is False
        return event["account"] == result["account"] and is_believed and event["final"]

    return find(STATUSES, result["id"], is_verdict, VERDICT_SECONDS)


def main(id: str, phone: str, text: str) -> None:
    if not re.fullmatch("[1-9][0-9]{0,14}", phone):  # int() drops the zero: 0671234567 would become somebody else's phone
        sys.exit("Nothing was sent: PHONE must be digits only, in international format such as 380671234567.")
    sms = {"sms_message": text, "sms_signature": "Shop"}
    # Names the record of the union; without it fastavro guesses.
    command = {"id": int(id), "phone": int(phone), "message": ("io.busgate.Sms", sms), "correlationId": "example-python"}
    if PUBLIC_KEYS:
        command["message"] = seal("sms", sms, command, first_key(PUBLIC_KEYS))
    send(command)
    result = final_result(int(id))
    if result["outcome"] != "SENT" or result["type"] in ("call/otp", "hlr"):  # these types have no statuses
        return
    event = verdict_on(result)
    # If you keep reading: a later DELIVERED replaces FAILED, and either replaces UNKNOWN (given up).
    print(result["id"], event["state"] if event else "no verdict yet")


if __name__ == "__main__":
    main(*sys.argv[1:])
