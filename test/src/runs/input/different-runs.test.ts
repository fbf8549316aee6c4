import t from 'tap'
import { describeDifferentRuns, RUN_RULES } from '../../../../src/runs/input/different-runs.ts'
import { joinLogs } from '../../../../src/runs/input/join-logs.ts'
import type { EndedContainer, Entry } from '../../../../src/runs/log/entry.ts'

/** A log with a row at the begin and at the end, in minutes after noon. */
interface TestLog {
  readonly pod: string | null
  readonly from: number
  readonly to: number
  readonly owner?: string
  readonly index?: string
  readonly namespace?: string
  readonly metric?: string
  readonly file?: string
  /** Whether its rows have a time without a date. */
  readonly isUndated?: boolean
  /** The exit code of the container; undefined if the status of the pod is not known. */
  readonly exit?: number
}

const [JOB, NOON] = ['Job/lammps', Date.parse('2026-11-26T12:00:00Z')]

function entriesOf(log: TestLog): readonly Entry[] {
  const { pod, from, to, owner, index = null, namespace = 'hpc', metric = 'vitals', exit } = log
  const source = `${namespace}/${pod}/${metric}/${from}`
  const place = { source, metric, namespace, pod, node: null, pod_index: index }
  const row = (minutes: number, timepoint: number) => {
    const date = new Date(NOON + minutes * 60_000).toISOString()
    const time = log.isUndated === true ? date.slice(11, 19) : date
    const moment = { time, timepoint, seconds: 60 * (minutes - from), interval: null }
    return { kind: 'pod', section: 'tcp', ...place, ...moment } as Entry
  }
  const end = { container: 'app', reason: null, signal: null, finishedAt: null, restarted: false }
  const ended: readonly EndedContainer[] | null =
    exit === undefined ? null : [{ ...end, exitCode: exit, deleted: false }]
  const entry: Entry = {
    kind: 'log',
    ...place,
    metadata: { ...(owner === undefined ? {} : { owner }), container: 'app' },
    ...{ rows: null, command: null, summary: [], isAverage: false, timepoints: 2 },
    ...{
      cuts: [],
      notices: [],
      podLimits: null,
      observedPods: null,
      time: null,
      attempt: null,
      ended,
    },
  }
  return [row(from, 0), row(to, 1), entry]
}

function describe(...logs: readonly TestLog[]): string | undefined {
  const join = joinLogs()
  for (const [number, log] of logs.entries()) {
    join.begin(log.file ?? `${number}.log`)
    for (const entry of entriesOf(log)) join.push(entry)
  }
  return describeDifferentRuns(join.logs())
}

const ONE = { pod: 'lammps-0-a', owner: JOB, index: '0', from: 0, to: 2 }
const LATER = { ...ONE, pod: 'lammps-0-b', from: 5, to: 7 }

t.test('pods that can be of one run are one run', async (t) => {
  const [driver, worker] = ['Job/js-driver-0', 'Job/js-workers-0']
  for (const [name, ...logs] of [
    ['a pod', ONE],
    [
      'two metrics of a pod, one after the other',
      ONE,
      { ...ONE, metric: 'network', from: 60, to: 90 },
    ],
    [
      'pods of a Job that start at different times',
      ONE,
      { ...LATER, index: '1', from: 500, to: 501 },
    ],
    ['pods of a Job, one after the other', ONE, { ...LATER, index: '1' }],
    [
      'pods of a JobSet, by their roles',
      { ...ONE, owner: driver, index: 'driver-0-0' },
      { ...LATER, owner: worker, index: 'workers-0-0', from: 120, to: 121 },
    ],
    [
      'pods of a JobSet, by the names of its Jobs',
      { ...ONE, owner: driver },
      { ...LATER, owner: worker, from: 120, to: 121 },
    ],
    [
      'the launcher and a worker of an MPIJob',
      { ...ONE, owner: 'Job/x-launcher' },
      { ...ONE, pod: 'x-worker-0', owner: 'MPIJob/x' },
    ],
    ['a retried index', { ...ONE, exit: 1 }, { ...LATER, exit: 0 }],
    [
      'a retried index that went on after a day',
      { ...ONE, exit: 1 },
      { ...LATER, from: 1500, to: 1501, exit: 0 },
    ],
    [
      'a JobSet that was restarted',
      { ...ONE, exit: 0 },
      { ...ONE, pod: 'lammps-1-a', index: '1', to: 3, exit: 1 },
      { ...LATER, exit: 0 },
      { ...LATER, pod: 'lammps-1-b', index: '1', exit: 0 },
    ],
    ['a pod whose observer was started again', ONE, { ...ONE, from: 30, to: 40 }],
    ['pods of a Job without indexes', { ...ONE, index: null }, { ...LATER, index: null, from: 1 }],
    [
      'pods that one collect has written',
      { ...ONE, exit: 0, file: 'a.jsonl' },
      { ...LATER, exit: 0, file: 'a.jsonl' },
    ],
    [
      'pods of a Deployment, one after the other',
      { ...ONE, owner: 'ReplicaSet/web-1', index: undefined },
      { ...LATER, owner: 'ReplicaSet/web-1', index: undefined },
    ],
    [
      'logs of unknown pods',
      { pod: null, from: 0, to: 5 },
      { pod: null, from: 10, to: 12, metric: 'network' },
    ],
  ] as const)
    t.equal(describe(...(logs as unknown as readonly TestLog[])), undefined, name)
})

t.test('pods that are not of one run are two runs, and both are named', async (t) => {
  const cron = { ...ONE, index: undefined, exit: 0, file: 'a.jsonl' }
  for (const [why, ...logs] of [
    ['one namespace', ONE, { ...LATER, namespace: 'ml', index: '1' }],
    ['each Job', ONE, { ...ONE, pod: 'other-0-a', owner: 'Job/other' }],
    [
      'each Job',
      { ...cron, owner: 'Job/nightly-29001234' },
      { ...cron, pod: 'b', owner: 'Job/nightly-29001294' },
    ],
    ['not known to be another attempt', ONE, LATER],
    ['not known to be another attempt', { ...ONE, exit: 0 }, { ...LATER, exit: 0 }],
    [
      'not known to be another attempt',
      { ...ONE, pod: 'train', owner: undefined, index: undefined },
      { ...LATER, pod: 'train', owner: undefined, index: undefined },
    ],
    ['no row for 15 minutes', { pod: null, from: 0, to: 5 }, { pod: null, from: 21, to: 22 }],
    ['no row for 15 minutes', ONE, { pod: null, from: 60, to: 62 }],
  ] as const) {
    const text = describe(...(logs as unknown as readonly TestLog[])) ?? ''
    t.match(text, why)
    t.match(
      text,
      /^the logs are of several runs: .*12:00:00Z to .* in (0\.log|a\.jsonl), and .* in /,
    )
  }
  t.equal(RUN_RULES.length, 4)
})

t.test('the order of the files changes nothing', async (t) => {
  t.equal(describe(LATER, ONE)?.includes('lammps-0-a of Job/lammps (2026-11-26T12:00:00Z'), true)
  t.equal(describe({ ...LATER, exit: 0 }, { ...ONE, exit: 1 }), undefined)
  const undated = { ...ONE, metric: 'network', isUndated: true }
  const first = /lammps-0-a of Job\/lammps \(2026-11-26T12:00:00Z .*, and /
  t.match(describe(LATER, { ...undated, pod: 'lammps-1-a', index: '1' }, ONE), first)
  const again = { ...LATER, pod: ONE.pod, owner: 'StatefulSet/lammps' }
  t.match(
    describe(again, { ...undated, owner: again.owner }, { ...ONE, owner: again.owner }),
    /lammps-0-a of StatefulSet\/lammps \(2026-11-26T12:00:00Z .*, and /,
    'another start of a pod',
  )
})
