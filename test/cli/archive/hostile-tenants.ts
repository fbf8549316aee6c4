import type { ServerResponse } from 'node:http'
import { rfc3339 } from '../../../src/lib/rfc3339.ts'
import { type GrowingLog, growingLog } from '../../stand-ins/growing-log.ts'
import { recordedLog } from './observers.ts'
import { CONTROLLER, type World } from './world.ts'

// Tenants that use as much of an archive as they can, each in a namespace of its own, and each of a
// fixed size. The logs are answers of the simulated apiserver: no kubelet writes a log without end
// at a steady speed, and no node here has a clock of its own.

/** A tenant: its namespace is its name in TENANTS. */
type Tenant = (world: World) => void

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** The metrics whose observers a pod can have. */
const OBSERVERS = [
  ...['vitals', 'pressure', 'perf-sysstat', 'io-sysstat'],
  ...['network', 'cpu-profile', 'mpi-trace', 'nccl-ras'],
] as const

type Observer = (typeof OBSERVERS)[number]

interface HostilePod {
  readonly namespace: string
  readonly name: string
  readonly state: 'pending' | 'running' | 'ended'
  readonly observers?: readonly Observer[]
  readonly image?: string
  /** By how much the clock of its node is ahead, in milliseconds. */
  readonly aheadMs?: number
  /** Whether it belongs to the only workload of its namespace. */
  readonly isOfWorkload?: boolean
}

const times = (count: number) => Array.from({ length: count }, (_, index) => index)

function stateOf(state: 'running' | 'ended', aheadMs: number): object {
  const now = Date.now() + aheadMs
  const startedAt = rfc3339(now - 5 * MINUTE_MS)
  if (state === 'running') return { running: { startedAt } }
  const terminated = { exitCode: 0, reason: 'Completed', startedAt, finishedAt: rfc3339(now) }
  return { terminated }
}

const PHASES = { pending: 'Pending', running: 'Running', ended: 'Succeeded' } as const

function putHostilePod({ standIn }: World, pod: HostilePod): void {
  const { namespace, name, state, observers = ['vitals'], image = 'app:1', aheadMs = 0 } = pod
  const of = (container: string) =>
    state === 'pending'
      ? { name: container, state: { waiting: { reason: 'ContainerCreating' } } }
      : { name: container, restartCount: 0, state: stateOf(state, aheadMs) }
  const owner = { ...CONTROLLER, name: namespace }
  standIn.put('pods', {
    metadata: {
      ...{ name, namespace, uid: `${namespace}-${name}`, creationTimestamp: rfc3339(Date.now()) },
      ownerReferences: pod.isOfWorkload ? [owner] : [],
      annotations: {
        'ridealong.dev/status': JSON.stringify({
          ...{ outcome: 'injected', metrics: observers, mode: 'native' },
        }),
      },
    },
    spec: {
      initContainers: observers.map((observer) => ({ name: observer, restartPolicy: 'Always' })),
      containers: [{ name: 'app', image }],
    },
    status: {
      ...(state !== 'pending' && { startTime: rfc3339(Date.now() + aheadMs - 5 * MINUTE_MS) }),
      phase: PHASES[state],
      containerStatuses: [of('app')],
      initContainerStatuses: observers.map(of),
    },
  })
}

/** A log whose answers the test writes. */
const answeredBy = (answer: (response: ServerResponse) => void): GrowingLog => ({
  ...growingLog(),
  answer,
})

/** Returns a log that is answered at once. All of its lines have the same time. */
function wholeLog(text: string): GrowingLog {
  const stamp = `${rfc3339(Date.now())} `.replace('Z', '.000000000Z')
  const stamped = Buffer.from(text.replace(/^(?=.)/gm, stamp))
  return answeredBy((response) => response.end(stamped))
}

const PART_MS = 250
const PART_BYTES = 65_536

/** Returns a log that sends 256 KiB in each second and never ends. */
function endlessLog(hasLines: boolean): GrowingLog {
  const line = `${rfc3339(Date.now()).replace('Z', '.000000000Z')} ${'x'.repeat(4000)}\n`
  const part = hasLines ? line.repeat(Math.ceil(PART_BYTES / line.length)) : 'x'.repeat(PART_BYTES)
  return answeredBy((response) => {
    response.write(hasLines ? part : line.trimEnd())
    const timer = setInterval(() => response.write(part), PART_MS)
    response.on('close', () => clearInterval(timer))
  })
}

/** Returns the lines with which observers of a metric begin their logs. */
function headerOf(metric: 'mpi-trace' | 'nccl-ras'): readonly string[] {
  const start = {
    ...{ pods: 1, metricName: metric, metricDescription: '', metricOptions: { rate: 60 } },
    ...{ container: 'app', started: rfc3339(Date.now()) },
  }
  return [
    `METADATA START ${JSON.stringify(start)}`,
    'METADATA END',
    'METRICS OPERATOR COLLECTION START',
  ]
}

function logOf(metric: 'mpi-trace' | 'nccl-ras', rows: readonly object[]): GrowingLog {
  const process = { container: 'app', program: 'solver' }
  const lines = rows.map((row) => JSON.stringify({ ...row, ...process }))
  return wholeLog(`${[...headerOf(metric), ...lines].join('\n')}\n`)
}

/** Ranks of MPI of which each waits for the next one, at two timepoints. */
function chainOfRanks(first: number, count: number, size: number): GrowingLog {
  const at = (ms: number) => new Date(ms).toISOString()
  const own = (place: number) => ({ pid: place + 1, mpi_rank: place, mpi_size: size, job: '1' })
  const waits = (place: number) => ({ call: 'MPI_Recv', mpi_peer: `${place + 1}` })
  const now = Date.now()
  const rows = [now - 2 * MINUTE_MS, now - MINUTE_MS].flatMap((ms) =>
    times(count).map((index) => ({
      ...{ time: at(ms), section: 'open', ...own(first + index), thread: 100 },
      ...{ ...waits(first + index), communicator: 'world', number: null, transfer: 'receive' },
      ...{ since: 0, elapsed: 1000 + (ms - now) / 1000, longest_gap: 1, waited: 900 },
      ...{ process_state: 'sleeping', cpu_time: 5 },
    })),
  )
  return logOf('mpi-trace', rows)
}

/** Communicators of NCCL of two ranks each, all of which have stopped. */
function manyCommunicators(count: number): GrowingLog {
  const time = new Date().toISOString()
  const rows = times(count).flatMap((index) => {
    const communicator = index.toString(16).padStart(16, '0')
    const rank = { time, section: 'rank', communicator, host: '10.0.0.1', gpu: 0, behind: 1 }
    return [
      {
        ...{ time, section: 'communicator', communicator, size: 2, ranks_missing: 0 },
        ...{ ranks_behind: 1, ranks_ahead: 1, operation: 'AllReduce', launched: 6 },
      },
      ...[0, 1].map((place) => ({
        ...{ ...rank, nccl_rank: place, nccl_pid: 2 * index + place, state: 'running' },
        ...{ launched: 6 + place, operation: 'AllReduce', without_change: 900 },
      })),
    ]
  })
  return logOf('nccl-ras', rows)
}

/** 320 pods that wait for an image with a name of 1 MB. */
const names: Tenant = (world) => {
  for (const index of times(320)) {
    const image = `registry.example/${index}${'x'.repeat(1_000_000)}`
    putHostilePod(world, { namespace: 'names', name: `names-${index}`, state: 'pending', image })
  }
}

/** 128 logs without end, of which every second one has no line that ends. */
const endless: Tenant = (world) => {
  for (const index of times(128)) {
    const name = `endless-${index}`
    world.logs.set(name, endlessLog(index % 2 === 0))
    const state = index % 4 < 2 ? 'running' : 'ended'
    putHostilePod(world, { namespace: 'endless', name, state })
  }
}

/** A chain of 8,000 ranks in 8 pods. */
const chains: Tenant = (world) => {
  for (const index of times(8)) {
    const name = `chains-${index}`
    world.logs.set(name, chainOfRanks(1000 * index, 1000, 8000))
    const pod = { namespace: 'chains', name, observers: ['mpi-trace'], isOfWorkload: true } as const
    putHostilePod(world, { ...pod, state: 'running' })
  }
}

/** A run of 320 observers in 40 pods, with logs of 64 KiB. */
const containers: Tenant = (world) => {
  const vitals = recordedLog('lammps-0.vitals')
  const rows = vitals.split('\n').filter((line) => line.startsWith('{"time"'))
  const [header = ''] = vitals.split(rows[0] ?? '')
  const text = `${header}${rows.join('\n')}\n`.slice(0, 65_536)
  const log = wholeLog(text)
  for (const index of times(40)) {
    const name = `containers-${index}`
    world.logs.set(name, log)
    const pod = { namespace: 'containers', name, observers: OBSERVERS, isOfWorkload: true }
    putHostilePod(world, { ...pod, state: 'ended' })
  }
}

/** Pods on nodes whose clocks are 31 days behind and ahead. */
const clocks: Tenant = (world) => {
  const log = wholeLog(recordedLog('lammps-1.vitals'))
  for (const [name, aheadMs] of CLOCKS) {
    world.logs.set(name, log)
    putHostilePod(world, { namespace: 'clocks', name, state: 'ended', aheadMs })
  }
}

/** The pods of the tenant `clocks`. */
export const CLOCKS = new Map([
  ['behind', -31 * DAY_MS],
  ['ahead', 31 * DAY_MS],
])

/** A log of 12 MB about 10,000 communicators of NCCL, whose pod has ended. */
const communicators: Tenant = (world) => {
  world.logs.set('communicators', manyCommunicators(10_000))
  const pod = { namespace: 'communicators', name: 'communicators' }
  putHostilePod(world, { ...pod, observers: ['nccl-ras'], state: 'ended' })
}

/** The tenants, by their namespaces. */
export const TENANTS = { names, endless, chains, containers, clocks, communicators }
