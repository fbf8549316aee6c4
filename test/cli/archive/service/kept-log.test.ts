import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import {
  createKeptLog,
  type KeptLog,
  noteRead,
  readNewLines,
} from '../../../../cli/archive/service/kept-log.ts'
import { createKeptLogs, type KeptRun, logId } from '../../../../cli/archive/storage/kept-logs.ts'
import { VOLUME_FILES } from '../../../../cli/archive/storage/volume-files.ts'
import type { Apiserver } from '../../../../src/cluster/apiserver.ts'
import { endedObserver } from '../observers.ts'

const RUN: KeptRun = { key: '["hpc","1",null]', namespace: 'hpc', name: 'lammps-1', title: 'x' }
const OBSERVER = endedObserver('lammps-0', 'vitals')
const MIB = 2 ** 20

/** Returns a log, and a function that reads it from a response. */
function startLog(t: Test) {
  const kept = createKeptLogs(t.testdir({}), VOLUME_FILES)
  const pod = { started: null, images: [] }
  const log = createKeptLog(logId(OBSERVER), RUN, { observer: OBSERVER, pod })
  const read = (parts: Iterable<string>, readingMs: number) => {
    const open = async () => Readable.from(parts) as IncomingMessage
    const api = { open } as Partial<Apiserver> as Apiserver
    return readNewLines(log, { api, kept, readingMs, signal: new AbortController().signal })
  }
  return { log, read }
}

const lineAt = (second: number) => `2026-01-01T00:00:${`${second}`.padStart(2, '0')}Z line\n`

/** Yields the parts of a log that has no end. */
function* endless(first: string, part: string, count: { sent: number }): Generator<string> {
  yield first
  for (; ; count.sent += part.length) yield part
}

const resultOf = ({ isDone, problem, wasReadLast }: KeptLog) => ({ isDone, problem, wasReadLast })

t.test('a log without line feeds is given up when too much of it has arrived', async (t) => {
  const { log, read } = startLog(t)
  const count = { sent: 0 }
  const reading = await read(endless(lineAt(0), 'x'.repeat(MIB), count), 600_000)
  t.strictSame(reading, { added: 1, end: 'too-long' })
  t.ok(count.sent < 140 * MIB, `${count.sent / MIB} MiB were read`)
  noteRead(log, reading, true)
  t.match(resultOf(log), { isDone: true, problem: /more than 64 MiB; the rest was not kept/ })
})

t.test(
  'a reading that takes too long goes on later, and the log does not count as whole',
  async (t) => {
    const { log, read } = startLog(t)
    const lines = Array.from({ length: 5 }, (_, second) => lineAt(second))
    const late = await read(lines, 0)
    t.strictSame(late, { added: 1, end: 'late' })
    noteRead(log, late, true)
    t.strictSame(resultOf(log), { isDone: false, problem: null, wasReadLast: false })
    const rest = await read(lines, 600_000)
    t.strictSame(rest, { added: 4, end: 'whole' })
    const none = await read(lines, 600_000)
    noteRead(log, none, true)
    t.strictSame(resultOf(log), { isDone: true, problem: null, wasReadLast: true })
  },
)

t.test('a reading in whose time no line ends fails', async (t) => {
  const { read } = startLog(t)
  await t.rejects(read(endless('x', 'x', { sent: 0 }), 0), /a line did not end within 0 s/)
})
