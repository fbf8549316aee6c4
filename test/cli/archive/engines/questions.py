"""Asks the questions of docs/examples/questions.md with DuckDB and with Spark.

The argument is a JSON object: engine, views, questions. Prints the answers as JSON: for each
question a list of rows.
"""
import json
import sys

asked = json.loads(sys.argv[1])

if asked['engine'] == 'duckdb':
    import duckdb
    connection = duckdb.connect()
    connection.execute(asked['views'])
    answers = [connection.execute(question).fetchall() for question in asked['questions']]
else:
    from pyspark.sql import SparkSession
    settings = {'spark.ui.enabled': 'false', 'spark.ui.showConsoleProgress': 'false'}
    spark = SparkSession.builder.master('local[2]').config(map=settings).getOrCreate()
    exec(asked['views'], {'spark': spark})
    rows = [spark.sql(question).collect() for question in asked['questions']]
    answers = [[tuple(row) for row in answer] for answer in rows]
    spark.stop()

print(json.dumps(answers))
