import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import t, { type Test } from 'tap'
import { createKeptLog, type KeptLog } from '../../../../cli/archive/service/kept-log.ts'
import { createProgressWatch } from '../../../../cli/archive/service/progress-watch.ts'
import { createKeptLogs, type KeptRun, logId } from '../../../../cli/archive/storage/kept-logs.ts'
import { VOLUME_FILES } from '../../../../cli/archive/storage/volume-files.ts'
import { readStampedLines } from '../../../../src/runs/top/stamped-lines.ts'
import { endedObserver } from '../observers.ts'

// A recorded job of MPI: its third process sleeps for some time while the others wait for it, and
// then the job goes on. The test keeps the log on a volume, as the archive does, and looks at it.

const RECORDED = new URL('../../../logs/mpi/mpi-trace-resumed.log', import.meta.url)
const LINES = readFileSync(RECORDED, 'utf8').split('\n').slice(0, -1)
const RUN: KeptRun = { key: '["hpc","1",null]', namespace: 'hpc', name: 'job-1', title: 'x' }

const timeOf = (line: string) => Date.parse(/^\{"time":"([^"]+)"/.exec(line)?.[1] ?? '')
const TIMES = LINES.map(timeOf).filter((time) => !Number.isNaN(time))
const [BEGIN, END] = [Math.min(...TIMES), Math.max(...TIMES)]
const SECOND = 1000

/** Starts to watch the log of a pod, and returns what the looks find. */
function start(t: Test, pods: readonly string[], lookMs = 600_000) {
  const kept = createKeptLogs(t.testdir({}), VOLUME_FILES)
  const said: (string | undefined)[] = []
  const failures: string[] = []
  const watch = createProgressWatch({
    ...{ kept, lookMs },
    onLook: (_, sentence) => said.push(sentence),
    onUnknown: (_, message) => failures.push(message),
  })
  t.teardown(() => watch.stop())
  const logs = pods.map((pod): KeptLog => {
    const observer = { ...endedObserver(pod, 'mpi-trace'), state: 'running' } as const
    const log = createKeptLog(logId(observer), RUN, {
      observer,
      pod: { started: null, images: [] },
    })
    log.position = { isPrevious: false, lines: readStampedLines(), skipped: 0, bytes: 0, count: 0 }
    mkdirSync(dirname(kept.pathOf(RUN, log.id)), { recursive: true })
    return log
  })
  return { kept, watch, logs, said, failures }
}

type Watched = ReturnType<typeof start>

/** Appends lines to the text of a log, as a reading that began at a time does. */
function append({ kept }: Watched, log: KeptLog, lines: readonly string[], readAt: number): void {
  const text = lines.map((line) => `${line}\n`).join('')
  appendFileSync(kept.pathOf(RUN, log.id), text)
  if (log.position !== undefined) log.position.bytes += Buffer.byteLength(text)
  log.readAt = readAt
}

/** Looks at the logs, and returns what was found; `none` if they were not looked at. */
async function look({ watch, logs, said }: Watched): Promise<string | undefined> {
  const before = said.length
  await watch.begin([logs])
  return said.length > before ? said.at(-1) : 'none'
}

/** Returns the lines that are written in a part of the time; those without a time come first. */
const linesIn = (from: number, to: number) =>
  LINES.filter((line) => {
    const at = timeOf(line)
    return Number.isNaN(at)
      ? from < BEGIN && !/SUMMARY|END$|ended/.test(line)
      : at > from && at <= to
  })

t.test('a job that stops is found, and no longer when it goes on', async (t) => {
  const watched = start(t, ['job-0'])
  const [log] = watched.logs
  if (log === undefined) throw new Error('there is a log')
  const found: (string | undefined)[] = []
  for (let at = BEGIN; at <= END + SECOND; at += SECOND) {
    append(watched, log, linesIn(at === BEGIN ? 0 : at - SECOND, at), at)
    found.push(await look(watched))
  }
  const first = found.findIndex((sentence) => sentence !== undefined)
  t.ok(first > 10, `it is found after ${first} looks`)
  t.match(
    found[first],
    /^For 1\d(\.\d+)? s, MPI ranks 0-1 wait in MPI_Barrier .* MPI rank 2 has not come: it sleeps/,
  )
  t.notMatch(found[first], /\.$/)
  t.equal(found.at(-1), undefined)
  t.strictSame(watched.failures, [])
  t.equal(await look(watched), 'none', 'logs that were not read again are not looked at')
})

t.test('logs are compared as they were when the earliest of them was read', async (t) => {
  const watched = start(t, ['job-0', 'job-1'])
  const [log, other] = watched.logs
  if (log === undefined || other === undefined) throw new Error('there are two logs')
  const middle = (BEGIN + END) / 2
  append(watched, log, linesIn(0, END), END)
  t.equal(await look(watched), 'none', 'a log that was never read may have everything')
  append(watched, other, [], middle)
  t.match(await look(watched), /MPI rank 2 has not come/)
  append(watched, other, [], END)
  t.equal(await look(watched), undefined, 'the newer rows were left for this look')
})

t.test('a run whose rows are too large is reported once, and not looked at any more', async (t) => {
  const watched = start(t, ['job-0'])
  const [log] = watched.logs
  if (log === undefined) throw new Error('there is a log')
  const [row = ''] = LINES.filter((line) => line.includes('"section":"open"'))
  append(watched, log, Array(20_000).fill(row), END)
  t.equal(await look(watched), undefined)
  append(watched, log, [], END + 1)
  t.equal(await look(watched), 'none')
  t.strictSame(watched.failures, ['the Run job-1: its last rows are too large'])
})

const fieldsOf = (fields: object) => JSON.stringify(fields).slice(1, -1)

/** Rows in which each process has a job of its own. They are inputs; no observer wrote them. */
function forgedRows(pod: number): readonly string[] {
  const time = new Date(END).toISOString()
  return Array.from({ length: 1000 }, (_, index) => {
    const section = pod % 2 === 0 ? 'start' : 'rank'
    const rank = { mpi_rank: 0, mpi_library: 'x', state: 'running' }
    const process = { pid: index + 1, mpi_size: 2, job: `${pod}-${index}` }
    return `{${fieldsOf({ time, section, ...process, ...(section === 'rank' && rank) })}}`
  })
}

t.test('another thread looks, so the main thread can do its other work', async (t) => {
  const pods = Array.from({ length: 20 }, (_, index) => `job-${index}`)
  const watched = start(t, pods)
  for (const [index, log] of watched.logs.entries())
    append(watched, log, [...linesIn(0, BEGIN - 1), ...forgedRows(index)], END)
  const [before, ofMain] = [process.cpuUsage(), process.threadCpuUsage()]
  t.equal(await look(watched), undefined)
  t.strictSame(watched.failures, [])
  const [all, main] = [process.cpuUsage(before).user, process.threadCpuUsage(ofMain).user]
  t.ok(main * 2 < all, `the main thread used ${main} of ${all} microseconds`)
})

t.test('a look that takes too long is ended, and its run is not looked at any more', async (t) => {
  const watched = start(t, ['job-0'], 1)
  const [log] = watched.logs
  if (log === undefined) throw new Error('there is a log')
  append(watched, log, linesIn(0, END), END)
  t.equal(await look(watched), undefined)
  append(watched, log, [], END + 1)
  t.equal(await look(watched), 'none')
  t.strictSame(watched.failures, ['the Run job-1: the thread has not answered for 0.001 s'])
})
