"""Reads Avro with fastavro, an implementation that shares nothing with busgate's.
In: a JSON line {"writer": schema, "reader": schema or the name of an earlier one, "name": its name, "bodies": [hex]}.
Out: a JSON line [["ok", value] or ["no", error] for each body]. A value: null, true, text, ["i", digits], ["f", hex of a
double], ["b", hex], ["a", items], ["r", [[name, value]]], ["t", name of a record in a union of records, value].
"""
import copy, json, io, resource, signal, struct, sys
import fastavro._read_py as reading
from fastavro.schema import parse_schema

resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
sys.setrecursionlimit(5000)
reading.LOGICAL_READERS.clear()  # busgate reads numbers and bytes, not dates and decimals


class Late(Exception):
    pass


def late(*_):
    raise Late()


signal.signal(signal.SIGALRM, late)


def told(value):
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return ["i", str(value)]
    if isinstance(value, float):
        return ["f", struct.pack(">d", value).hex()]
    if isinstance(value, bytes):
        return ["b", value.hex()]
    if isinstance(value, tuple):
        return ["t", value[0], told(value[1])]
    if isinstance(value, list):
        return ["a", [told(item) for item in value]]
    return ["r", [[name, told(item)] for name, item in value.items()]]


def read(body, writer, reader):
    stream = io.BytesIO(body)
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        value = reading.schemaless_reader(
            stream, writer, reader, return_record_name=True, return_record_name_override=True
        )
        if stream.tell() < len(body):
            return ["no", "bytes follow"]
        return ["ok", told(value)]
    except BaseException as error:
        return ["no", f"{type(error).__name__}: {str(error)[:100]}"]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


readers = {}
for line in sys.stdin:
    case = json.loads(line)
    if case["reader"] is not None:
        readers[case["name"]] = parse_schema(case["reader"])
    try:
        writer = parse_schema(case["writer"])
        answers = [read(bytes.fromhex(body), writer, readers[case["name"]]) for body in case["bodies"]]
    except BaseException as error:
        answers = [["no", f"schema: {type(error).__name__}: {str(error)[:100]}"]] * len(case["bodies"])
    print(json.dumps(answers), flush=True)
