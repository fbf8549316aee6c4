import { type BasicType, ByteWriter, ParquetWriter, schemaFromColumnData } from 'hyparquet-writer'
import type { RowSection } from '../../core/catalog.ts'
import { isCell } from '../log/cell.ts'
import { type Column, PLACE_COLUMNS, type Sample, SECTION_COLUMN } from '../log/columns.ts'

/** A Parquet file that is made in parts, which follow each other in the file. */
export interface ParquetFile {
  /** Adds a row. Returns the next part of the file; undefined if it needs more rows. */
  readonly push: (sample: Sample) => Uint8Array | undefined
  /** Returns the last part of the file. */
  readonly end: () => Uint8Array
}

type Value = string | number | Date | null

/** A column of a file, with its values since the last part. */
interface FileColumn {
  readonly name: string
  readonly column: Column
  readonly type: BasicType
  readonly nullable: true
  data: Value[]
}

/** The rows of a part, which are a row group. Its values are kept until the group is complete. */
const GROUP_ROWS = 32_768

/**
 * Starts a file with the rows of a section: the columns of every sample, `section`, and the columns
 * of the section. Each value can be null. The metadata of the file have the meanings and the units
 * of the columns as JSON, under the key `ridealong.columns`.
 *
 * @param program the name and the version of the program that writes the file
 */
export function startParquetFile(section: RowSection, program: string): ParquetFile {
  const described = describeColumns(section)
  const columns = Object.entries(described).map(([name, column]) => newColumn(name, column))
  const bytes = new ByteWriter()
  const writer = new ParquetWriter({
    writer: bytes,
    schema: schemaFromColumnData({ columnData: columns }),
    createdBy: program,
    kvMetadata: [{ key: 'ridealong.columns', value: JSON.stringify(described) }],
  })
  let rows = 0
  const writeGroup = () => {
    if (rows === 0) return
    writer.write({
      columnData: columns.map(({ name, data }) => ({ name, data })),
      rowGroupSize: GROUP_ROWS,
    })
    for (const column of columns) column.data = []
    rows = 0
  }
  return {
    push: (sample) => {
      for (const column of columns) column.data.push(readValue(column, sample))
      rows += 1
      if (rows < GROUP_ROWS) return undefined
      writeGroup()
      return takeBytes(bytes)
    },
    end: () => {
      writeGroup()
      writer.finish()
      return takeBytes(bytes)
    },
  }
}

/** Returns the types, meanings and units of the columns of a file, by their names. */
function describeColumns({ columns }: RowSection): Readonly<Record<string, Column>> {
  const own = columns.map(({ name, type, meaning, unit }) => {
    return [name, { type, meaning, ...(unit !== undefined && { unit }) }] as const
  })
  return { ...PLACE_COLUMNS, section: SECTION_COLUMN, ...Object.fromEntries(own) }
}

function newColumn(name: string, column: Column): FileColumn {
  return { name, column, type: typeOf(name, column), nullable: true, data: [] }
}

function typeOf(name: string, { type }: Column): BasicType {
  if (name === 'time') return 'TIMESTAMP'
  if (name === 'timepoint') return 'INT32'
  return type === 'text' ? 'STRING' : 'DOUBLE'
}

/** A time without a date, as in logs of the Metrics Operator, is no timestamp. */
function readValue({ name, column, type }: FileColumn, sample: Sample): Value {
  const value = sample[name] ?? null
  if (!isCell(column, value)) return null
  if (type !== 'TIMESTAMP') return value
  const isDated = typeof value === 'string' && value.includes('T')
  return isDated ? new Date(value) : null
}

/** Returns the bytes that were written since the last call. */
function takeBytes(writer: ByteWriter): Uint8Array {
  const bytes = new Uint8Array(writer.buffer.slice(0, writer.index))
  writer.index = 0
  return bytes
}
