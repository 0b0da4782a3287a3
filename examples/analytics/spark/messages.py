"""Writes one row a message to the table messages, as Parquet files in ./spark-warehouse, and prints the report."""

import json
import os
import re
from functools import reduce
from pathlib import Path
from urllib.request import urlopen

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.avro.functions import from_avro

BROKERS = os.environ.get("KAFKA_BROKERS", "localhost:9092")
REGISTRY = os.environ.get("REGISTRY_URL", "http://localhost:8081")
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
        .option("kafka.bootstrap.servers", BROKERS)
        .option("kafka.isolation.level", "read_committed")
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
    with urlopen(f"{REGISTRY}/{path}") as answer:
        return json.load(answer)["schema"]


def snake_case(frame: DataFrame) -> DataFrame:
    return frame.toDF(*(re.sub("([A-Z])", r"_\1", name).lower() for name in frame.columns))


main()
