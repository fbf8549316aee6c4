import { readLog } from '../../../../../src/runs/log/read.ts'
import { addEntry, type CollectedRun } from '../../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../../log/built-in.ts'

// Builds logs of torch-collectives. A test chooses their numbers; no observer wrote them.

/** A process with the process group 0: its rank, and when it made each call. */
export interface TorchMember {
  readonly rank: number
  readonly size?: number
  readonly pid?: number
  /** The times of its calls in seconds, by their numbers. */
  readonly called: ReadonlyMap<number, number>
  readonly hasEnded?: boolean
}

/** When the run began, in seconds since 1970. */
const START = 1.79e9

const timeOf = (seconds: number) => new Date((START + seconds) * 1000).toISOString()

/** Returns the times of calls with the numbers from 1, each this many seconds after another. */
export function everySeconds(count: number, step: number, { from = 0 } = {}) {
  return new Map(Array.from({ length: count }, (_, at) => [1 + at, from + at * step]))
}

/** Returns the lines of a process: those of itself, its process group, and its calls. */
export function torchLines({ rank, size = 2, pid = 70, called, hasEnded }: TorchMember) {
  const of = { container: 'app', program: 'train.py', pid, world_rank: rank }
  const group = { ...of, group: '0' }
  const state = hasEnded === true ? 'ended' : 'running'
  const members = { description: 'default_pg', size, members: `0-${size - 1}` }
  const rows = [
    { section: 'process', ...of, world_size: size, state, copies: 1, longest_copy: 0.1 },
    { section: 'group', ...group, ...members, last_number: Math.max(...called.keys()) },
    ...[...called].map(([number, seconds]) => {
      const call = { number, operation: 'gloo:all_reduce', called: START + seconds }
      return { section: 'collective', ...group, ...call, state: 'scheduled' }
    }),
  ]
  const time = timeOf(Math.max(...called.values()))
  return rows.map((row) => JSON.stringify({ time, ...row }))
}

/** Returns the log of an observer of torch-collectives. */
export function torchLog(lines: readonly string[], started = timeOf(0)): string {
  const metadata = JSON.stringify({ metricName: 'torch-collectives', started })
  return [
    `METADATA START ${metadata}`,
    'METADATA END',
    'METRICS OPERATOR COLLECTION START',
    ...lines,
    'METRICS OPERATOR COLLECTION END',
    JSON.stringify({ metric: 'torch-collectives' }),
    '',
  ].join('\n')
}

/** Adds the log of the pod of this rank to a run. */
export function addTorchLog(run: CollectedRun, rank: number, source: string, text: string): void {
  const pod = { namespace: 'hpc', pod: `job-${rank}`, node: 'node-1', pod_index: String(rank) }
  for (const entry of readLog(text, { source, ...pod }, BUILT_IN_ROWS)) addEntry(run, entry)
}
