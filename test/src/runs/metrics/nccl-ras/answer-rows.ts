import type { Cell, Sample } from '../../../../../src/runs/log/columns.ts'

// Builds rows of nccl-ras for tests. A test chooses their numbers; no observer wrote them. The test
// test/observers/network/nccl-ras/nccl-ras.test.ts has rows that an observer writes.

/** The seconds between two answers. */
export const INTERVAL = 60

type Cells = Readonly<Record<string, Cell>>

export interface AnswerShape {
  /** The label of the pod that asks. */
  readonly asks?: string
  readonly service?: Cells
  readonly communicator?: Cells
  /** The cells of the ranks of the communicator that have rows. */
  readonly ranks?: readonly Cells[]
}

/** The communicator of all ranks. */
export const WORLD = '27a079b828ff1a75'

/** The row of a rank that has launched as many operations as any other, in the pod `app-RANK`. */
export const rankCells = (nccl_rank: number, changes: Cells = {}): Cells => ({
  ...{ communicator: WORLD, nccl_rank, host: `10.0.0.${nccl_rank}`, nccl_pid: 70 + nccl_rank },
  ...{ gpu: 0, state: 'running', launched: 6650, operation: null, behind: 0, without_change: 120 },
  ...changes,
})

/** A rank that has not launched the last operation. */
export const lateCells = (nccl_rank: number, changes: Cells = {}): Cells =>
  rankCells(nccl_rank, { launched: 6649, operation: 'AllReduce', behind: 1, ...changes })

/** A rank whose process does not answer. */
export const missingCells = (nccl_rank: number, changes: Cells = {}): Cells =>
  rankCells(nccl_rank, { state: 'unresponsive', launched: null, behind: null, ...changes })

/** The rows of an answer at a time in seconds since the first timepoint. */
export function answerRows(seconds: number, shape: AnswerShape = {}): readonly Sample[] {
  const { asks = '0', service = {}, communicator = {}, ranks = [] } = shape
  const counts = { ranks_missing: 0, ranks_behind: 1, ranks_ahead: 3 }
  return [
    sample(asks, seconds, 'service', {
      ...{ scope: 'pod', role: 'first', state: 'answered', format: 'json', communicators: 1 },
      ...{ own_ranks: 1, late_answers: 0, without_change: 120, longest_gap: 0, ...service },
    }),
    sample(asks, seconds, 'communicator', {
      ...{ communicator: WORLD, size: 4, ...counts, operation: 'AllReduce', launched: 6650 },
      ...communicator,
    }),
    ...ranks.map((cells) => sample(asks, seconds, 'rank', cells)),
  ]
}

/** The row of the process of a rank, in a pod of its own. */
export function processRow(rank: number, seconds: number, changes: Cells = {}): Sample {
  return sample(String(rank), seconds, 'process', {
    ...{ container: 'app', program: 'train.py', pid: 70 + rank, world_rank: rank, world_size: 4 },
    ...{ addresses: `10.0.0.${rank}`, process_state: 'sleeping', cpu_time: 5, ...changes },
  })
}

const KINDS = { service: 'pod', communicator: 'pod', rank: 'device', process: 'process' } as const

function sample(
  pod_index: string,
  seconds: number,
  section: keyof typeof KINDS,
  cells: Cells,
): Sample {
  const pod = `job-${pod_index}-abcde`
  const place = { metric: 'nccl-ras', namespace: 'hpc', pod, node: 'node-1', pod_index }
  const time = new Date(1.79e12 + seconds * 1000).toISOString()
  return {
    ...{ kind: KINDS[section], source: `hpc/${pod}/nccl-ras`, ...place },
    ...{ timepoint: seconds / INTERVAL, time, seconds, interval: INTERVAL, section, ...cells },
  } as Sample
}
