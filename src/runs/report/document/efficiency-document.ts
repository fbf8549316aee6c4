import { rounded } from '../../../lib/round.ts'
import { FACTORS, type Factor, type FactorName } from '../../efficiency/factor.ts'
import type {
  Efficiency,
  PodEfficiency,
  ProcessEfficiency,
} from '../../efficiency/run-efficiency.ts'

/** The most pods, or processes of MPI, whose times the document has. */
const MAX_ROWS = 20_000

/**
 * Returns the efficiency of a run, with its factors and the times of its processes or pods, for
 * programs.
 */
export function efficiencyDocument({ basis, root, elapsed, ...all }: Efficiency) {
  return {
    basis,
    size: all.size,
    recorded: all.processes.length + all.pods.length,
    job: all.job,
    otherJobs: all.otherJobs,
    elapsedSeconds: rounded(elapsed),
    factors: factorsOf(root, null),
    processes: all.processes.slice(0, MAX_ROWS).map(processOf),
    pods: all.pods.slice(0, MAX_ROWS).map(podOf),
    omitted: Math.max(all.processes.length + all.pods.length - MAX_ROWS, 0),
  }
}

/** A factor, with the name of the factor of which it is a part. */
interface FactorDocument {
  readonly name: FactorName
  readonly of: FactorName | null
  readonly title: string
  readonly meaning: string
  readonly value: number | null
  readonly least: number | null
  readonly missing: string | null
}

function factorsOf(
  { name, value, least, missing, parts }: Factor,
  of: FactorName | null,
): readonly FactorDocument[] {
  const own = { name, of, ...FACTORS[name], value: rounded(value), least: rounded(least), missing }
  return [own, ...parts.flatMap((part) => factorsOf(part, name))]
}

function processOf({ pod, mpiRank, elapsed, inMpi, shares, waits, split }: ProcessEfficiency) {
  const isKnown = shares !== null || waits !== null
  return {
    podIndex: pod,
    mpiRank,
    elapsedSeconds: rounded(elapsed),
    computingSeconds: rounded(split.computing),
    storageSeconds: rounded(split.storage),
    idleSeconds: rounded(split.idle),
    mpiSeconds: rounded(inMpi),
    waitingSeconds: isKnown ? rounded(split.delayed) : null,
    waitingInMpiSeconds: isKnown ? rounded(split.delayedInMpi) : null,
  }
}

function podOf({ pod, elapsed, ran, limit, shares }: PodEfficiency) {
  return {
    podIndex: pod,
    elapsedSeconds: rounded(elapsed),
    cores: ran === null || elapsed <= 0 ? null : rounded(ran / elapsed),
    coresLimit: rounded(limit),
    computing: rounded(shares?.computing ?? null),
    waiting: rounded(shares?.waiting ?? null),
    storage: rounded(shares?.storage ?? null),
    idle: rounded(shares?.idle ?? null),
  }
}
