"""Runs analytics/clickhouse in chDB, ClickHouse's engine without its server: prints messages and the report as CSV.

chDB 4.0.2 is the last version that reads Kafka: later ones refuse tables of the Kafka engine.
"""

import os
import sys
import time
from pathlib import Path

from chdb.session import Session

ADDRESSES = {
    "localhost:9092": os.environ["KAFKA_BROKERS"],
    "http://localhost:8081": os.environ["REGISTRY_URL"],
    "'busgate.results'": f"'{os.environ['RESULTS_TOPIC']}'",
    "'busgate.statuses'": f"'{os.environ['STATUSES_TOPIC']}'",
}
PATIENCE_S = 300


def main(folder: Path, results: int, statuses: int) -> None:
    # Unlike a server, chDB starts no threads for the Kafka engine by default.
    session = Session(f"{folder / 'database'}?background_message_broker_schedule_pool_size=2")
    tables = (folder / "clickhouse/tables.sql").read_text()
    for example, ours in ADDRESSES.items():
        tables = tables.replace(example, ours)
    for statement in statements(tables):
        session.query(statement)
    wait_for_copies(session, {"results": results, "statuses": statuses})
    made = (folder / "clickhouse/make.sql").read_text() + (folder / "messages.sql").read_text()
    for statement in statements(made):
        session.query(statement)
    print(session.query("SELECT * FROM messages", "CSVWithNames").data())
    for question in statements((folder / "report.sql").read_text()):
        print(session.query(question, "CSVWithNames").data())


def statements(text: str) -> list[str]:
    return [one for one in text.split(";\n") if one.strip()]


def wait_for_copies(session: Session, all_records: dict[str, int]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    for table, count in all_records.items():
        # A record may be copied twice.
        while (copied := int(session.query(f"SELECT count() FROM {table}", "CSV").data())) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"copied {copied} of {count} {table}")
            time.sleep(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
