import type { GroupedEvidence } from '../../evidence/run-evidence.ts'
import { joinStores } from '../../evidence/stores.ts'
import type { LiveObserver, LivePod } from '../pods.ts'

/** Joins the evidence of all logs, whose things are not copied. */
export function joinLogs(
  pods: readonly LivePod[],
  evidenceOf: (observer: LiveObserver) => GroupedEvidence | undefined,
): GroupedEvidence {
  const all = pods.flatMap(({ observers }) => observers.flatMap((one) => evidenceOf(one) ?? []))
  return {
    sections: all.flatMap(({ sections }) => [...sections]),
    ended: new Map(all.flatMap(({ ended }) => [...ended])),
    podLimits: new Map(all.flatMap(({ podLimits }) => [...podLimits])),
    // The rows are those of the last minutes, and a summary is about the whole run.
    uses: new Map(),
    profiles: new Map(),
    standIns: all[0]?.standIns ?? [],
    stores: joinStores(all.map(({ stores }) => stores)),
  }
}
