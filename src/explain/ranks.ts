import type { Catalog } from '../core/catalog.ts'
import { COMPLETION_INDEX_KEY } from '../core/keys.ts'
import { asText, type Fields, fieldsOrNone } from '../core/kubernetes/json.ts'
import { cameOut, type InjectionOutcome } from './injection-outcome.ts'

/** Pods of one workload that have the same outcome. */
export interface Likes {
  /** The outcome in words. */
  readonly word: string
  readonly pods: readonly [Fields, ...Fields[]]
  /**
   * The ranks (completion indexes of the Job) of the pods, such as "ranks 0-2, 5", or the names of
   * the pods if a pod has no rank.
   */
  readonly which: string
}

/**
 * Groups pods by outcome, in the order of the first pod of each group.
 *
 * @param catalogFor returns the catalog to compare a pod's containers with, or undefined
 */
export function alike(
  pods: readonly Fields[],
  catalogFor: (pod: Fields) => Catalog | undefined,
): readonly Likes[] {
  const groups = new Map<string, [Fields, ...Fields[]]>()
  for (const pod of pods) {
    const word = outcomeWord(cameOut(pod, catalogFor(pod)))
    const group = groups.get(word)
    if (group === undefined) groups.set(word, [pod])
    else group.push(pod)
  }
  return [...groups].map(([word, group]) => ({ word, pods: group, which: formatRanks(group) }))
}

function outcomeWord(out: InjectionOutcome): string {
  switch (out.outcome) {
    case 'injected':
      return `injected with ${out.metrics.join(', ')}, counters ${out.counters}`
    case 'unverified':
      return `not verified: ${out.differences.join('; ')}`
    case 'altered':
      return `changed afterwards: ${out.problems.join('; ')}`
    case 'left':
      return `no observers (${out.reason})`
    case 'silent':
      return 'no status'
  }
}

function formatRanks(pods: readonly Fields[]): string {
  const ranks = pods.map(readRank)
  const numbers = ranks.filter((rank) => rank !== undefined).sort((a, b) => a - b)
  if (numbers.length === pods.length)
    return `${pods.length === 1 ? 'rank' : 'ranks'} ${spans(numbers)}`
  return pods.map(({ metadata }) => asText(fieldsOrNone(metadata).name)).join(', ')
}

function readRank({ metadata }: Fields): number | undefined {
  const index = fieldsOrNone(fieldsOrNone(metadata).annotations)[COMPLETION_INDEX_KEY]
  return typeof index === 'string' && /^\d{1,9}$/.test(index) ? Number(index) : undefined
}

function spans(numbers: readonly number[]): string {
  const spans: [number, number][] = []
  for (const number of new Set(numbers)) {
    const last = spans.at(-1)
    if (last !== undefined && last[1] === number - 1) last[1] = number
    else spans.push([number, number])
  }
  return spans.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ')
}
