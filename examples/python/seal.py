"""Seals the content of a command, so that only busgate's workers can read it (docs/personal-data.md)."""

import json
from pathlib import Path

from joserfc import jwe
from joserfc.jwk import import_key

# Not strict: the header also names the command, so that its text cannot be moved to another one.
REGISTRY = jwe.JWERegistry(algorithms=["ECDH-ES", "A256GCM"], strict_check_header=False)


def first_key(file: str) -> dict:
    """The key to seal with, of a file that `busgate keys public` wrote."""
    return json.loads(Path(file).read_text())["keys"][0]


def seal(type: str, content: dict, command: dict, key: dict) -> tuple:
    """The message of the command: its type's fields, sealed."""
    header = {
        "alg": "ECDH-ES",
        "enc": "A256GCM",
        "kid": key["kid"],
        "id": str(command["id"]),
        "account": command.get("account", "default"),
        "phone": str(command["phone"]),
        "type": type,
    }
    if command.get("hook"):
        header["hook"] = command["hook"]
    text = jwe.encrypt_compact(header, json.dumps(content), import_key(key), registry=REGISTRY)
    return ("io.busgate.Sealed", {"type": type, "jwe": text})
