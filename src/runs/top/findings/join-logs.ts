import type { GroupedEvidence } from '../../evidence/run-evidence.ts'
import { joinNcclRuns } from '../../metrics/nccl-ras/nccl-run.ts'
import type { LiveObserver, LiveRank } from '../ranks.ts'

/** Joins the evidence of all logs, whose things are not copied. */
export function joinLogs(
  ranks: readonly LiveRank[],
  evidenceOf: (observer: LiveObserver) => GroupedEvidence | undefined,
): GroupedEvidence {
  const all = ranks.flatMap(({ observers }) => observers.flatMap((one) => evidenceOf(one) ?? []))
  return {
    sections: all.flatMap(({ sections }) => [...sections]),
    ended: new Map(all.flatMap(({ ended }) => [...ended])),
    podLimits: new Map(all.flatMap(({ podLimits }) => [...podLimits])),
    profiles: new Map(),
    python: new Map(),
    nccl: joinNcclRuns(all.map(({ nccl }) => nccl)),
    torch: new Map(all.flatMap(({ torch }) => [...torch])),
    mpi: {
      processes: all.flatMap(({ mpi }) => mpi.processes),
      starting: new Map(all.flatMap(({ mpi }) => [...mpi.starting])),
    },
  }
}
