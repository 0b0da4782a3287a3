"""Sends commands (JSON, one a line of standard input) as examples/python/send.py would without its settings."""

import json
import sys

import send

send.SERIALIZER = {"auto.register.schemas": False}
del send.PRODUCER["partitioner"]
for line in sys.stdin:
    send.send(json.loads(line))
