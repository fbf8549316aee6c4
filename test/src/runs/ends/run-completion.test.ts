import { readFileSync } from 'node:fs'
import t from 'tap'
import type { EndedContainer, Entry } from '../../../../src/runs/log/entry.ts'
import type { KnownOrigin } from '../../../../src/runs/log/metadata.ts'
import { readLog } from '../../../../src/runs/log/read.ts'
import { assessRun } from '../../../../src/runs/report/assess.ts'
import { addEntry, newRun } from '../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'

/** A recorded log, and what `collect` knows of its pod. */
interface Collected extends Omit<KnownOrigin, 'source'> {
  readonly file: string
  /** The name of the log; the default is its number. */
  readonly source?: string
  /** Changes the text of the log. */
  readonly change?: (text: string) => string
}

const VITALS = 'well/lammps.vitals.log'
const MPI = 'well/lammps.mpi-trace.log'
const [FIRST, SECOND] = ['all-metrics/lammps-0.vitals.log', 'all-metrics/lammps-1.vitals.log']

const same = (text: string) => text

/** Returns how the run of these logs went. */
function assessed(...logs: readonly Collected[]) {
  const run = newRun(BUILT_IN_ROWS)
  for (const [index, { file, source, change = same, ...known }] of logs.entries()) {
    const text = readFileSync(new URL(`../../../logs/${file}`, import.meta.url), 'utf8')
    const entries: readonly Entry[] = readLog(
      change(text),
      { source: source ?? `${index}.log`, ...known },
      BUILT_IN_ROWS,
    )
    for (const entry of entries) addEntry(run, entry)
  }
  return assessRun(run)
}

/** Returns the end of the container of a recorded log. */
function end(exitCode: number, more: Partial<EndedContainer> = {}): EndedContainer {
  const [container, reason] = ['lammps', exitCode === 0 ? 'Completed' : 'Error']
  const rest = { signal: null, finishedAt: null, restarted: false, deleted: false }
  return { container, reason, exitCode, ...rest, ...more }
}

const app = (exitCode: number, more: Partial<EndedContainer> = {}) => {
  return end(exitCode, { container: 'app', ...more })
}

/** Leaves out the second half of a log. */
function halve(text: string): string {
  const lines = text.split('\n')
  return `${lines.slice(0, lines.length >> 1).join('\n')}\n`
}

/** Leaves out when the observer of a log began. */
function withoutStart(text: string): string {
  return text.replace(/"started":"[^"]*",/, '')
}

const CASES: Readonly<Record<string, readonly [readonly Collected[], string, RegExp?]>> = {
  'all ranks called MPI_Finalize': [[{ file: MPI }, { file: VITALS }], 'finished'],
  'neither a status nor calls of MPI': [
    [{ file: VITALS }],
    'unknown',
    /^Only the output of collect/,
  ],
  'the container succeeded': [[{ file: VITALS, ended: [app(0)] }], 'finished'],
  'the container failed': [
    [{ file: VITALS, ended: [app(139)] }],
    'unfinished',
    /failed: container app ended with exit code 139 \(SIGSEGV\)\.$/,
  ],
  'another container failed': [
    [{ file: VITALS, ended: [app(0), app(1, { container: 'proxy' })] }],
    'finished',
  ],
  'the pod was deleted': [
    [{ file: VITALS, ended: [app(137, { deleted: true })] }],
    'unfinished',
    /exit code 137 \(SIGKILL\), because its pod was deleted\.$/,
  ],
  'the container still ran': [
    [{ file: VITALS, ended: [] }],
    'unfinished',
    /^Container app of .* had not ended when its log was collected\.$/,
  ],
  'the container was started again, and still ran': [
    [{ file: VITALS, ended: [app(1, { restarted: true })] }],
    'unfinished',
    /had not ended/,
  ],
  'the container was started again, and succeeded': [
    [{ file: VITALS, ended: [app(1, { restarted: true }), app(0)] }],
    'finished',
  ],
  'the log lacks its end': [
    [{ file: VITALS, change: halve, ended: [app(0)] }],
    'unfinished',
    /^The end of the log 0\.log is missing\.$/,
  ],
  'the log of MPI lacks its end': [
    [{ file: MPI, change: halve }],
    'unfinished',
    /^MPI ranks 0-1 had not called MPI_Finalize when the log ended\./,
  ],
  'one of two pods still ran': [
    [
      { file: FIRST, ended: [end(0)] },
      { file: SECOND, ended: [] },
    ],
    'unfinished',
    /^Container lammps of pod 1 had not ended/,
  ],
  'the status of one of two pods is not known': [
    [{ file: FIRST, ended: [end(0)] }, { file: SECOND }],
    'unknown',
  ],
  'a worker still runs after its launcher succeeded': [
    [
      { file: FIRST, pod_index: 'launcher', ended: [end(0)] },
      { file: SECOND, pod_index: 'worker-0', ended: [], change: halve },
    ],
    'finished',
  ],
  'a worker failed': [
    [
      { file: FIRST, pod_index: 'launcher', ended: [end(0)] },
      { file: SECOND, pod_index: 'worker-0', ended: [end(1)] },
    ],
    'unfinished',
    /failed: container lammps ended with exit code 1/,
  ],
  'a pod was replaced, and the other one succeeded': [
    [
      {
        file: FIRST,
        pod_index: '0',
        pod: 'a',
        ended: [end(1, { finishedAt: '2026-11-26T01:40:00Z' })],
      },
      { file: SECOND, pod_index: '0', pod: 'b', ended: [end(0)] },
    ],
    'finished',
  ],
  'a pod failed beside one of the same index': [
    [
      {
        file: FIRST,
        pod_index: '0',
        pod: 'a',
        ended: [end(1, { finishedAt: '2026-11-26T02:40:00Z' })],
      },
      { file: SECOND, pod_index: '0', pod: 'b', ended: [end(0)] },
    ],
    'unfinished',
    /exit code 1/,
  ],
  'a pod failed, and it is not known when the other one of its index began': [
    [
      {
        file: FIRST,
        pod_index: '0',
        pod: 'a',
        ended: [end(1, { finishedAt: '2026-11-26T01:40:00Z' })],
      },
      { file: SECOND, pod_index: '0', pod: 'b', ended: [end(0)], change: withoutStart },
    ],
    'unfinished',
    /exit code 1/,
  ],
}

for (const [name, [logs, state, reason]] of Object.entries(CASES)) {
  t.test(name, async (t) => {
    const { completion } = assessed(...logs)
    t.equal(completion.state, state, completion.reason ?? '')
    if (reason !== undefined) t.match(completion.reason, reason)
    t.equal(completion.reason === null, state === 'finished')
  })
}

t.test('a log that may lack its end does not make the time of a run uncertain', async (t) => {
  const whole = { file: FIRST, ended: [end(0)] }
  const cut = { ...whole, change: halve }
  const worker = { file: SECOND, pod_index: 'worker-0', ended: [], change: halve }
  for (const [name, logs, isCut] of [
    ['a log without its end', [cut], true],
    [
      'a log of an observer that was started again',
      [
        { ...cut, source: 'vitals.log' },
        { ...whole, source: 'vitals.log#2' },
      ],
      false,
    ],
    ['a worker after its launcher', [{ ...whole, pod_index: 'launcher' }, worker], false],
  ] as const) {
    const { verdict } = assessed(...logs)
    t.equal(verdict.startsWith('Took at least'), isCut, `${name}: ${verdict}`)
  }
})
