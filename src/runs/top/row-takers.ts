import type { RowsDescription } from '../../core/catalog.ts'
import type { RowOrigin } from '../log/columns.ts'
import { startLiveProcesses } from '../metrics/mpi-trace/live-processes.ts'
import { MPI_METRIC } from '../metrics/mpi-trace/mpi-run.ts'
import { startLiveAnswers } from '../metrics/nccl-ras/live-answers.ts'
import { NCCL_METRIC } from '../metrics/nccl-ras/nccl-run.ts'
import { PYTHON_METRIC } from '../metrics/python-profile/current-stacks.ts'
import { startLiveStacks } from '../metrics/python-profile/live-stacks.ts'
import { type LogEvidence, startLogEvidence } from './findings/log-evidence.ts'
import { joinTakers, type RowTaker } from './live-log.ts'
import { type LiveObserver, type LiveRank, logName } from './ranks.ts'

/** The takers of the rows of a log besides the table, for findings and jobs that may be stuck. */
export interface RowTakers extends Pick<LiveObserver, 'mpi' | 'nccl' | 'python'> {
  readonly evidence?: LogEvidence
}

/** @param place the metric and the pod of the log */
export function startTakers(
  place: Omit<RowOrigin, 'source'> & Pick<LiveRank, 'namespace' | 'pod'>,
  description: RowsDescription,
) {
  const { metric, namespace, pod, node, rank } = place
  const source = `${namespace}/${pod}`
  const log = { source: logName(place, metric ?? ''), metric, namespace, pod, node, rank }
  return { ...startJobTakers(metric, source), evidence: startLogEvidence(log, description) }
}

/**
 * Starts the takers of the rows of a log for jobs that may be stuck.
 *
 * @param source identifies the pod
 */
export function startJobTakers(metric: string | null, source: string) {
  return {
    mpi: metric === MPI_METRIC ? startLiveProcesses(source) : undefined,
    nccl: metric === NCCL_METRIC ? startLiveAnswers(source) : undefined,
    python: metric === PYTHON_METRIC ? startLiveStacks(source) : undefined,
  }
}

/** Returns a taker that passes the rows to all of them. */
export function joinedTaker({ mpi, nccl, python, evidence }: RowTakers): RowTaker {
  return joinTakers([mpi, nccl, python, evidence].filter((one) => one !== undefined))
}
