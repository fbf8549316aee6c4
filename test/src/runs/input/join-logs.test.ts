import { readFileSync } from 'node:fs'
import t from 'tap'
import { joinLogs } from '../../../../src/runs/input/join-logs.ts'
import type { Entry } from '../../../../src/runs/log/entry.ts'
import { readLog } from '../../../../src/runs/log/read.ts'
import { reportModel } from '../../../../src/runs/report/data.ts'
import { addEntry, newRun } from '../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'
import { everySeconds, torchLines, torchLog } from '../metrics/torch-collectives/torch-log.ts'

const RECORDED = [
  'nccl-python/train.nccl-ras.log',
  'nccl-python/train.python-profile.log',
  'nccl-python/train.vitals.log',
  'mpi/mpi-trace-imbalanced-0.log',
  'profiles/cpu-profile-lammps-0.log',
  'findings/perf-sysstat-throttled.log',
]
const ENDED = [
  {
    ...{ container: 'app', reason: 'Error', exitCode: 1, signal: null, finishedAt: null },
    ...{ restarted: false, deleted: false },
  },
]

/** A file with the logs of three pods. Only the output of `collect` has the status of a pod. */
interface TestFile {
  readonly name: string
  readonly isCollected?: boolean
  /** The part of each log that had been written when it was read; by default, all of it. */
  readonly part?: number
}

/** Returns the texts of all logs, with their pods. */
function textsOf() {
  const recorded = RECORDED.map((path) => {
    const text = readFileSync(new URL(`../../../logs/${path}`, import.meta.url), 'utf8')
    return { path, pod: 0, text }
  })
  // The logs of two ranks of PyTorch, the second of which is late.
  const torch = [1, 2].map((pod) => {
    const called = everySeconds(30, 5, { from: 2 * (pod - 1) })
    return { path: `torch-${pod}`, pod, text: torchLog(torchLines({ rank: pod - 1, called })) }
  })
  return [...recorded, ...torch]
}

function entriesOf({ name, isCollected = false, part = 1 }: TestFile): readonly Entry[] {
  return textsOf().flatMap(({ path, pod, text }) => {
    const read = firstPart(text, part)
    const place = { namespace: 'hpc', pod: `job-${pod}`, node: 'node-1', pod_index: String(pod) }
    const source = isCollected ? `hpc/job-${pod}/${path}` : `${name}/${path}`
    const facts = isCollected && { ended: ENDED, podLimits: { cpu: 2, memory: null } }
    return readLog(read, { source, ...place }, BUILT_IN_ROWS).map((entry) =>
      entry.kind === 'log' ? { ...entry, ...facts } : entry,
    )
  })
}

/** Returns the beginning of a log, which ends between two timepoints in the formats of sysstat. */
function firstPart(text: string, part: number): string {
  const lines = text.split('\n')
  const read = lines.slice(0, Math.ceil(part * lines.length))
  const marker = read.lastIndexOf('METRICS OPERATOR TIMEPOINT')
  return (part === 1 || marker < 0 ? read : read.slice(0, marker)).join('\n')
}

/** Joins the entries of files. */
function join(...files: readonly TestFile[]) {
  const joined = joinLogs()
  const entries = files.flatMap((file) => {
    joined.begin(file.name)
    return entriesOf(file).flatMap((entry) => joined.push(entry) ?? [])
  })
  return { entries, logs: joined.logs(), notices: joined.notices() }
}

/** Returns what a report of files shows, except for where the logs are. */
function shownOf(...files: readonly TestFile[]) {
  const run = newRun(BUILT_IN_ROWS)
  for (const entry of join(...files).entries) addEntry(run, entry)
  const { pods, found, page } = reportModel(run, 'process')
  return JSON.parse(JSON.stringify({ pods, found, page }).replaceAll(/logs\/|hpc\/job-\d\//g, ''))
}

const COLLECTED = { name: 'run.jsonl', isCollected: true }
const EARLY = { name: 'early.jsonl', isCollected: true, part: 0.4 }
const LOGS = { name: 'logs' }

t.test('a report of logs and their copies is that of the logs', async (t) => {
  const once = shownOf(COLLECTED)
  t.match(once.found.findings.map(({ rule }: { rule: string }) => rule).sort(), [
    'container-failed',
    'late-in-torch-collectives',
    'no-progress',
  ])
  t.strictSame(shownOf(COLLECTED, COLLECTED), once)
  t.strictSame(shownOf(COLLECTED, LOGS), once)
  // The first logs do not say how the pod ended.
  t.strictSame(shownOf(LOGS, COLLECTED), once)
})

t.test(
  'a file that was collected earlier adds nothing, before or after the whole one',
  async (t) => {
    const once = shownOf(COLLECTED)
    t.strictSame(shownOf(COLLECTED, EARLY), once)
    t.strictSame(shownOf(EARLY, COLLECTED), once)
  },
)

t.test('rows of a log are yielded once, under the name of the first file', async (t) => {
  const { entries, logs, notices } = join(EARLY, LOGS, COLLECTED)
  const rows = entries.filter(({ kind }) => kind !== 'log')
  t.equal(rows.length, join(LOGS).entries.filter(({ kind }) => kind !== 'log').length)
  t.equal(logs.length, RECORDED.length + 2)
  t.ok(logs.every(({ name, file }) => name.startsWith('hpc/job-') && file === 'early.jsonl'))
  t.strictSame(notices, [
    'logs has 8 logs that early.jsonl has, too: each row counts once',
    'run.jsonl has 8 logs that early.jsonl has, too: each row counts once',
  ])
})

t.test('other logs of the same name keep their rows, under other names', async (t) => {
  const [early, late] = ['2026-11-26T01:00', '2026-11-26T02:00'].map((minute) => {
    const text = readFileSync(
      new URL('../../../logs/well/lammps.vitals.log', import.meta.url),
      'utf8',
    )
    return text.replaceAll('2026-11-26T12:54', minute)
  }) as [string, string]
  const read = (text: string, source: string) =>
    readLog(text, { source, pod: 'lammps', namespace: 'hpc' }, BUILT_IN_ROWS)
  const namesOf = (files: readonly (readonly [file: string, source: string, text: string])[]) => {
    const joined = joinLogs()
    for (const [file, source, text] of files) {
      joined.begin(file)
      for (const entry of read(text, source)) joined.push(entry)
    }
    return joined.logs().map(({ name }) => name)
  }
  t.strictSame(
    namesOf([
      ['a/lammps.log', 'lammps.log', early],
      ['b/lammps.log', 'lammps.log', late],
    ]),
    ['lammps.log', 'b/lammps.log'],
  )
  const source = 'hpc/lammps/vitals'
  t.strictSame(
    namesOf([
      ['a.jsonl', source, early],
      ['b.jsonl', source, late],
      ['c.jsonl', source, early],
    ]),
    [source, `${source}#2`],
  )
})
