"""Writes one row a message to the table messages, as Parquet files in ./spark-warehouse, and prints the report."""

import base64
import json
import os
import re
import ssl
from functools import reduce
from pathlib import Path
from urllib.request import Request, urlopen

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.avro.functions import from_avro



def settings_in(file: str | None) -> dict[str, str]:
    """The lines name=value of a file of settings."""
    lines = Path(file).read_text().splitlines() if file else []
    pairs = [line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")]
    return {name.strip(): value.strip() for name, value in pairs}


KAFKA = {
    "bootstrap.servers": os.environ.get("KAFKA_BROKERS", "localhost:9092"),
    "isolation.level": "read_committed",
    **settings_in(os.environ.get("KAFKA_SETTINGS")),
}
REGISTRY = os.environ.get("REGISTRY_URL", "http://localhost:8081")
REGISTRY_SETTINGS = settings_in(os.environ.get("REGISTRY_SETTINGS"))
TOPICS = {
    "results": os.environ.get("RESULTS_TOPIC", "busgate.results"),
    "statuses": os.environ.get("STATUSES_TOPIC", "busgate.statuses"),
}
JARS = [f"org.apache.spark:{name}_2.13:{pyspark.__version__}" for name in ("spark-avro", "spark-sql-kafka-0-10")]
SQL = Path(__file__).parents[1]

spark = (
    SparkSession.builder.config("spark.jars.packages", ",".join(JARS))
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.shuffle.partitions", 8)
    .getOrCreate()
)


def main() -> None:
    for name, topic in TOPICS.items():
        read(topic).createOrReplaceTempView(name)
    spark.sql(
        "CREATE TEMPORARY FUNCTION seconds_between(earlier TIMESTAMP, later TIMESTAMP) RETURNS DOUBLE "
        "RETURN (unix_millis(later) - unix_millis(earlier)) / 1000"
    )
    messages = spark.sql((SQL / "messages.sql").read_text().rstrip(";\n"))
    messages.write.mode("overwrite").saveAsTable("messages")
    for question in (SQL / "report.sql").read_text().rstrip(";\n").split(";\n"):
        print(question.strip().split("\n")[0])
        spark.sql(question).show(50, truncate=False)


def read(topic: str) -> DataFrame:
    """Every record, decoded with the schema whose id it carries. Fields that it lacks have the default of the latest schema."""
    records = (
        spark.read.format("kafka")
        .options(**{f"kafka.{name}": value for name, value in KAFKA.items()})
        .option("subscribe", topic)
        .load()
        .selectExpr("CAST(conv(hex(substring(value, 2, 4)), 16, 10) AS INT) AS schema_id", "substring(value, 6) AS body")
        .cache()
    )
    latest = schema(f"subjects/{topic}-value/versions/latest")
    ids = [row.schema_id for row in records.select("schema_id").distinct().collect()]
    versions = [
        records.where(records.schema_id == id)
        .select(from_avro("body", schema(f"schemas/ids/{id}"), {"avroSchema": latest}).alias("of"))
        .select("of.*")
        for id in ids
    ]
    return reduce(DataFrame.unionByName, versions).transform(snake_case)


def schema(path: str) -> str:
    request = Request(f"{REGISTRY}/{path}")
    if login := REGISTRY_SETTINGS.get("basic.auth.user.info"):
        request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    trusted = ssl.create_default_context(cafile=REGISTRY_SETTINGS.get("ssl.ca.location"))
    with urlopen(request, context=trusted) as answer:
        return json.load(answer)["schema"]


def snake_case(frame: DataFrame) -> DataFrame:
    return frame.toDF(*(re.sub("([A-Z])", r"_\1", name).lower() for name in frame.columns))


main()
