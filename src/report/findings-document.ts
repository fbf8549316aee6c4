import type { RunFinding } from '../findings/evaluate.ts'
import { reportModel, type Unit } from './data.ts'
import type { CollectedRun } from './gather.ts'
import { listObservedRanks } from './observed-ranks.ts'
import { ranksDocument } from './programs/ranks-document.ts'
import { rounded as roundedNumber } from './statistics.ts'
import type { MpiJobData } from './tools/mpi-data.ts'
import type { ProfileData } from './tools/profile-data.ts'

/** The version of the document. It changes if a field changes its meaning or is removed. */
const API_VERSION = 'ridealong.dev/v1alpha1'

/** Builds the document of `report --output json`: everything that the page shows. */
export function findingsDocument(collected: CollectedRun, title: string, unit: Unit = 'auto') {
  const model = reportModel(collected, unit)
  const { run, page, found } = model
  const { findings, explained, notChecked } = found
  const profiles = page.profiles?.programs ?? []
  const mpi = page.mpi?.jobs ?? []
  return {
    apiVersion: API_VERSION,
    kind: 'Findings',
    title,
    ranks: ranksDocument(model),
    observedRanks: listObservedRanks(run),
    samples: run.samples,
    logs: run.sources.size,
    findings: findings.map(findingOf),
    explained,
    notChecked,
    notices: page.notices,
    ...(profiles.length > 0 && { profiles: profiles.map(profileOf) }),
    ...(mpi.length > 0 && { mpi: mpi.map(jobOf) }),
  }
}

/** The document of `report --output json`. */
export type FindingsDocument = ReturnType<typeof findingsDocument>

/** Returns a finding with rounded numbers, and without `isRelative`, which only the page needs. */
function findingOf({ isRelative: _, lost, ranks, plot, ...finding }: RunFinding) {
  return {
    ...finding,
    secondsLost: rounded(lost),
    ranks: ranks.map(({ rank, things, also = [], lost: own, waitedFor, facts }) => ({
      rank,
      secondsLost: rounded(own),
      things: [...things, ...also],
      ...(waitedFor && { waitedFor }),
      facts: facts.map((fact) => ({ ...fact, value: rounded(fact.value) })),
    })),
    column: plot,
  }
}

/** Returns the functions of a program, without the stacks, which the output of `collect` has. */
function profileOf({ program, ranks, seconds, functions, differences }: ProfileData) {
  return {
    program,
    ranks,
    seconds,
    functions: functions.rows.map(({ name, library, self, total }) => {
      return { function: name, library, selfSeconds: self, totalSeconds: total }
    }),
    differences: differences.map(({ name, library, median, compared, ranks: own }) => ({
      function: name,
      library,
      medianSeconds: median,
      ranksCompared: compared,
      ranks: own.map(({ rank, self, more }) => {
        return { rank, selfSeconds: self, secondsAboveMedian: more }
      }),
    })),
  }
}

/** Returns the time in MPI of the processes of a job, and by function. */
function jobOf({ job, size, rows, calls }: MpiJobData) {
  return {
    job,
    size,
    processes: rows.map(({ rank, mpiRank, values }) => {
      const [elapsedSeconds, mpiSeconds, , count, bytes] = values
      return { rank, mpiRank, elapsedSeconds, mpiSeconds, calls: count, bytes }
    }),
    calls: calls.map(({ call, calls: count, seconds, spread, bytes }) => {
      const [leastSeconds, medianSeconds, mostSeconds] = spread
      return { call, calls: count, seconds, leastSeconds, medianSeconds, mostSeconds, bytes }
    }),
  }
}

function rounded(value: number | null): number | null {
  return value === null ? null : roundedNumber(value)
}
