import { rounded } from '../../../lib/round.ts'
import { FACTORS, type Factor, type FactorName } from '../../efficiency/factor.ts'
import type {
  Efficiency,
  ProcessEfficiency,
  RankEfficiency,
} from '../../efficiency/run-efficiency.ts'

/** The most ranks, or processes of MPI, whose times the document has. */
const MAX_ROWS = 20_000

/** Returns the efficiency of a run, with its factors and the times of its ranks, for programs. */
export function efficiencyDocument({ basis, root, elapsed, ...all }: Efficiency) {
  const rows = [...all.processes.map(processOf), ...all.ranks.map(rankOf)]
  return {
    basis,
    size: all.size,
    job: all.job,
    otherJobs: all.otherJobs,
    elapsedSeconds: rounded(elapsed),
    factors: factorsOf(root, null),
    ranks: rows.slice(0, MAX_ROWS),
    omittedRanks: Math.max(rows.length - MAX_ROWS, 0),
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

function processOf({ pod, mpiRank, elapsed, inMpi, shares, split }: ProcessEfficiency) {
  const isKnown = shares !== null
  return {
    rank: pod,
    mpiRank,
    elapsedSeconds: rounded(elapsed),
    usefulSeconds: rounded(split.useful),
    mpiSeconds: rounded(inMpi),
    waitingSeconds: isKnown ? rounded(split.delayed) : null,
    waitingInMpiSeconds: isKnown ? rounded(split.delayedInMpi) : null,
  }
}

function rankOf({ rank, elapsed, ran, limit, shares }: RankEfficiency) {
  return {
    rank,
    elapsedSeconds: rounded(elapsed),
    cores: ran === null || elapsed <= 0 ? null : rounded(ran / elapsed),
    coresLimit: rounded(limit),
    computing: rounded(shares?.computing ?? null),
    waiting: rounded(shares?.waiting ?? null),
    storage: rounded(shares?.storage ?? null),
    idle: rounded(shares?.idle ?? null),
  }
}
