import type { PodEvidence, RunEvidence } from '../evidence/run-evidence.ts'
import type { Affected, FoundPods, PodFinding } from './rule.ts'

/** Returns the function `find` of a rule that examines each pod by itself. */
export function perPod<FactName extends string>(
  find: (pod: PodEvidence) => readonly (PodFinding<FactName> | undefined)[],
): (run: RunEvidence, found: FoundPods) => readonly Affected<FactName>[] {
  return ({ pods }) =>
    pods.flatMap((pod) => {
      const made = find(pod).filter((one) => one !== undefined)
      return made.length === 0 ? [] : [{ pod: pod.pod, ...worstOf(made) }]
    })
}

/** Joins findings about processes by pod and cause. */
export function joinByPod<FactName extends string>(
  found: readonly Affected<FactName>[],
): readonly Affected<FactName>[] {
  const groups = Map.groupBy(found, ({ pod, cause }) => JSON.stringify([pod, cause]))
  return [...groups.values()].map((own) => {
    const [{ pod }] = own as [Affected<FactName>]
    return { ...worstOf(own), pod }
  })
}

/**
 * Joins the findings about the things of one pod. The result has the numbers of the thing that
 * lost the most time. If the times are equal or unknown, the thing with the greatest number counts.
 * The result also names the other things.
 */
function worstOf<FactName extends string>(
  findings: readonly PodFinding<FactName>[],
): PodFinding<FactName> {
  const sorted = [...findings].sort(compareLoss)
  const [worst, ...others] = sorted as [PodFinding<FactName>]
  const also = others.flatMap(({ things }) => things).filter((one) => !worst.things.includes(one))
  return also.length === 0 ? worst : { ...worst, also: [...new Set(also)] }
}

/** Sorts by the time lost, and then by the number that is compared with the threshold. */
export function compareLoss(
  a: Pick<Affected, 'lost' | 'facts'>,
  b: Pick<Affected, 'lost' | 'facts'>,
): number {
  return (b.lost ?? -1) - (a.lost ?? -1) || (b.facts[0]?.value ?? 0) - (a.facts[0]?.value ?? 0)
}
