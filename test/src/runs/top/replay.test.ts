import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { readLog } from '../../../../src/runs/log/read.ts'
import { pageData } from '../../../../src/runs/report/data.ts'
import { addEntry, newRun } from '../../../../src/runs/report/gather.ts'
import { startAssessor } from '../../../../src/runs/top/findings/assessment.ts'
import { HALF_SECONDS } from '../../../../src/runs/top/findings/log-evidence.ts'
import { startLiveLog } from '../../../../src/runs/top/live-log.ts'
import { buildLines } from '../../../../src/runs/top/pods.ts'
import { gatherLogs } from '../../../../src/runs/top/recorded-logs.ts'
import { type Replay, startReplay } from '../../../../src/runs/top/replay.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'

const LOGS = new URL('../../../logs/', import.meta.url)

const textOf = (name: string) => readFileSync(new URL(name, LOGS), 'utf8')

/** Returns the entries of recorded logs, as the verbs read them from files. */
function entriesIn(names: readonly string[]) {
  return names.flatMap((name) => {
    const source = name.slice(name.lastIndexOf('/') + 1)
    return readLog(textOf(name), { source }, BUILT_IN_ROWS)
  })
}

function replayOf(names: readonly string[]): Replay {
  const gathering = gatherLogs(BUILT_IN_ROWS)
  for (const entry of entriesIn(names)) gathering.add(entry)
  return startReplay(gathering.recording().logs, BUILT_IN_ROWS, [])
}

const SECOND = 1000
const WINDOW = 2 * HALF_SECONDS * SECOND

t.test('the finding about a load comes within two windows, and goes when it ends', async (t) => {
  const name = 'top/vitals-load.log'
  const ofLoad = textOf(name)
    .split('\n')
    .filter((line) => line.includes('"section":"process"') && line.includes('"program":"perl"'))
    .map((line) => Date.parse(JSON.parse(line).time))
  const [begins, ends] = [Math.min(...ofLoad), Math.max(...ofLoad)]
  const replay = replayOf([name])
  const assessor = startAssessor()
  const shown: number[] = []
  for (let at = replay.from; at <= replay.to; at += SECOND) {
    replay.advance(at)
    const [findings = []] = [...assessor.assess(replay.pods, at).findings.values()]
    if (findings.includes('waiting-for-cpu')) shown.push(at)
  }
  const [first = 0, last = 0] = [shown[0], shown.at(-1)]
  t.ok(first > begins && first <= begins + WINDOW, `${(first - begins) / SECOND} s after it begins`)
  t.ok(last > ends && last <= ends + 2 * WINDOW, `${(last - ends) / SECOND} s after it ends`)
  t.equal(shown.length, (last - first) / SECOND + 1, 'it does not come and go in between')
})

const RUNS: Readonly<Record<string, readonly string[]>> = {
  'all metrics': readdirSync(new URL('all-metrics', LOGS)).map((name) => `all-metrics/${name}`),
  'a CPU limit': ['findings/perf-sysstat-throttled.log', 'findings/pressure-throttled.log'],
  'crowded processors': ['findings/perf-sysstat-crowded.log', 'findings/pressure-crowded.log'],
  'waiting for storage': ['findings/perf-sysstat-storage.log', 'findings/pressure-storage.log'],
  'uneven work in MPI': [0, 1].map((pod) => `mpi/mpi-trace-imbalanced-${pod}.log`),
}

/** Removes how long the run took: the report also counts rows that no finding reads. */
const withoutLength = (verdict: string | undefined) => verdict?.replace(/^Took [\d.]+ \w+/, '')

for (const [title, names] of Object.entries(RUNS)) {
  t.test(`at its end, a replay says what the report says: ${title}`, async (t) => {
    const replay = replayOf(names)
    replay.advance(replay.to)
    const { verdict } = startAssessor().assess(replay.pods, replay.to)
    const run = newRun(BUILT_IN_ROWS)
    for (const entry of entriesIn(names)) addEntry(run, entry)
    const page = pageData(run, 'auto')
    t.match(verdict, /^Took .* on \d+ (MPI ranks? in \d+ )?pods?\./)
    t.equal(withoutLength(verdict), withoutLength(page.verdict))
  })
}

t.test('a run so far says whether it makes progress, as its report does', async (t) => {
  const assessedAt = (seconds: number, metrics: readonly string[]) => {
    const replay = replayOf(metrics.map((metric) => `verdict/hanging/hang-0.${metric}.log`))
    const now = replay.from + seconds * SECOND
    replay.advance(now)
    return startAssessor().assess(replay.pods, now)
  }
  const { verdict, stuck, efficiency } = assessedAt(20, ['mpi-trace', 'vitals'])
  t.match(stuck, [{ sentence: /MPI rank 1 has not come/ }])
  t.match(
    verdict,
    /^Has taken [\d.]+ s so far on 2 MPI ranks in 1 pod and makes no progress\. The efficiency is not known: the job made no progress\. /,
  )
  t.equal(efficiency?.root.missing, 'the job made no progress')
  const before = assessedAt(5, ['mpi-trace', 'vitals'])
  t.strictSame(before.stuck, [])
  t.notMatch(before.verdict, 'progress')
  t.match(
    assessedAt(20, ['vitals']).verdict,
    / so far on 1 pod\. Whether the job makes progress is not known: waiting and hangs in MPI /,
  )
})

/** Returns a log of which `top` has read the lines until a time. */
function liveLogAt(name: string, metric: string, now: number) {
  const description = BUILT_IN_ROWS.get(metric)
  if (description === undefined) throw new Error(`the catalog describes the rows of ${metric}`)
  const log = startLiveLog(description)
  for (const line of textOf(name).split('\n')) {
    const [, time] = /^\{"time":"([^"]+)"/.exec(line) ?? []
    if (time === undefined || Date.parse(time) <= now) log.push(line, now)
  }
  log.settle()
  return log
}

t.test('at any time, the table has the values that top shows while a log grows', async (t) => {
  const name = 'all-metrics/lammps-0.vitals.log'
  const replay = replayOf([name])
  for (const seconds of [3, 11, 20, 29]) {
    const now = replay.from + seconds * SECOND
    replay.advance(now)
    const log = liveLogAt(name, 'vitals', now)
    const live = replay.pods.map((pod) => ({
      ...pod,
      observers: pod.observers.map((observer) => ({ ...observer, log })),
    }))
    const facts = { now, findings: new Map() }
    const [lines, expected] = [replay.pods, live].map((pods) =>
      buildLines(pods, replay.columns, 'program', facts).map(({ state: _, ...line }) => line),
    )
    t.strictSame(lines, expected, `after ${seconds} s`)
    t.ok((lines ?? []).length > 0)
  }
})

t.test('a log that was read twice is shown once', async (t) => {
  const gathering = gatherLogs(BUILT_IN_ROWS)
  const entries = entriesIn(['all-metrics/lammps-0.vitals.log'])
  for (const entry of entries) gathering.add(entry)
  for (const entry of entries) gathering.add({ ...entry, source: 'a copy' })
  const { logs } = gathering.recording()
  t.equal(logs.length, 1)
})

t.test('there is a limit to the number of rows', async (t) => {
  const gathering = gatherLogs(BUILT_IN_ROWS, 100)
  const taken = entriesIn(['all-metrics/lammps-0.vitals.log']).map(gathering.add)
  t.equal(taken.indexOf(false), 100)
})
