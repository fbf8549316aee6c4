"""Prints the rows of each Parquet file in a folder as JSON, read by pyarrow and by DuckDB."""
import json
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet as parquet

files = {}
for path in sorted(Path(sys.argv[1]).iterdir()):
    file = parquet.ParquetFile(path)
    count, = duckdb.execute("select count(*) from read_parquet(?)", [str(path)]).fetchone()
    relation = duckdb.execute("select * from read_parquet(?)", [str(path)])
    names = [column[0] for column in relation.description]
    files[path.name] = {
        "types": {field.name: str(field.type) for field in file.schema_arrow},
        "metadata": {key.decode(): value.decode() for key, value in file.metadata.metadata.items()},
        "groups": file.num_row_groups,
        "count": count,
        "pyarrow": file.read().to_pylist(),
        "duckdb": [dict(zip(names, row)) for row in relation.fetchall()],
    }
    if count > 10_000:
        del files[path.name]["pyarrow"], files[path.name]["duckdb"]
json.dump(files, sys.stdout, default=lambda time: time.isoformat())
