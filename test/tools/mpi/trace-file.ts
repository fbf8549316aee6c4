import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The calls of a function with the same communicator and peer. Times are in seconds. */
export interface Call {
  readonly name: string
  /** The position of the communicator; 64 for others, 65 for none. */
  readonly communicator: number
  /** The rank of the peer in MPI_COMM_WORLD; -1 for none, -2 for others. */
  readonly peer: number
  readonly calls: number
  readonly seconds: number
  readonly bytes: number
}

export interface Communicator {
  readonly members: bigint
  readonly size: number
  /** The number of members of the other group; 0 if it is not an intercommunicator. */
  readonly remoteSize: number
  readonly ordinal: number
  readonly collectives: number
  readonly seconds: number
  readonly width: number
  readonly blocks: readonly number[]
}

/** A file of the recorder, as observer/mpi/table.h describes it. */
export interface TraceFile {
  readonly rank: number
  readonly size: number
  /** 0: running, 1: finalized, 2: exited, 3: aborted. */
  readonly state: number
  readonly seconds: number
  readonly mpiSeconds: number
  /** How long the threads slept outside of calls. */
  readonly asleepSeconds: number
  readonly calls: number
  /** The calls that may have sent bytes that are not counted. */
  readonly uncounted: number
  readonly library: string
  readonly communicators: readonly Communicator[]
  readonly rows: readonly Call[]
}

/** The bytes of a copy before its communicators, and those of a communicator and of a row. */
export const HEADER = 400
export const COMMUNICATOR = 56 + 8 * 256
export const ROW = 80
/** The offset of the rows in a copy, and that of the second copy. */
export const ROWS = HEADER + 64 * COMMUNICATOR
export const COPY = Math.ceil((ROWS + 1024 * ROW) / 4096) * 4096

/** Reads the newer copy of each file of a folder, sorted by rank. */
export function readTraces(folder: string): readonly TraceFile[] {
  const files = readdirSync(folder).filter((name) => /^mpi_\d+(\.\d+)?$/.test(name))
  return files.map((name) => parse(join(folder, name))).sort((one, other) => one.rank - other.rank)
}

function parse(path: string): TraceFile {
  const file = readFileSync(path)
  const saves = (copy: Buffer) => (copy.length < HEADER ? -1 : Number(copy.readBigUInt64LE(16)))
  const copies = [file.subarray(0, COPY), file.subarray(COPY)]
  const bytes = copies.reduce((one, other) => (saves(one) > saves(other) ? one : other))
  const long = (at: number) => Number(bytes.readBigUInt64LE(at))
  const text = (at: number, size: number) =>
    bytes.toString('latin1', at, at + size).replace(/\0.*$/s, '')
  const [communicators, rows] = [bytes.readUInt32LE(40), bytes.readUInt32LE(44)]
  return {
    rank: bytes.readUInt32LE(28),
    size: bytes.readUInt32LE(32),
    state: bytes.readUInt32LE(36),
    seconds: (long(72) - long(64)) / 1e9,
    mpiSeconds: long(88) / 1e9,
    asleepSeconds: long(120) / 1e9,
    calls: long(80),
    uncounted: bytes.readUInt32LE(140),
    library: text(144, 128),
    communicators: Array.from({ length: communicators }, (_, index) => {
      const at = HEADER + index * COMMUNICATOR
      return {
        members: bytes.readBigUInt64LE(at + 8),
        size: bytes.readUInt32LE(at + 16),
        ordinal: bytes.readUInt32LE(at + 20),
        remoteSize: bytes.readUInt32LE(at + 28),
        collectives: long(at + 32),
        seconds: long(at + 40) / 1e9,
        width: long(at + 48),
        blocks: Array.from({ length: 256 }, (_, block) => long(at + 56 + 8 * block) / 1e9),
      }
    }),
    rows: Array.from({ length: rows }, (_, index) => {
      const at = ROWS + index * ROW
      return {
        name: text(at + 48, 32),
        communicator: bytes.readUInt32LE(at + 4),
        peer: bytes.readInt32LE(at + 8),
        calls: long(at + 16),
        seconds: long(at + 24) / 1e9,
        bytes: long(at + 40),
      }
    }),
  }
}

/** Returns the sum of a column of the rows of a function. */
export function sumOf(
  { rows }: TraceFile,
  name: string,
  column: 'calls' | 'seconds' | 'bytes',
): number {
  return rows.filter((row) => row.name === name).reduce((sum, row) => sum + row[column], 0)
}
