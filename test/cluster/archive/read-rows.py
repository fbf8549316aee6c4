"""Prints the rows of a section of all runs in a storage, as DuckDB reads them, as JSON."""
import json
import sys

import duckdb

root, file = sys.argv[1:]
rows = duckdb.execute(
    "select namespace, date, run, count(*) as rows, max(rss) as rss from read_parquet(?, "
    "hive_partitioning = true) group by all order by all",
    [f"{root}/namespace=*/date=*/run=*/{file}"],
)
names = [column[0] for column in rows.description]
json.dump([dict(zip(names, row)) for row in rows.fetchall()], sys.stdout, default=str)
