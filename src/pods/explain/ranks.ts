import type { Catalog } from '../../core/catalog.ts'
import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { readPodRank } from '../../core/rules/pod-rank.ts'
import { cameOut, type InjectionOutcome } from './injection-outcome.ts'

/** Pods of one workload that have the same outcome. */
export interface Likes {
  /** The outcome in words. */
  readonly word: string
  readonly pods: readonly [Fields, ...Fields[]]
  /**
   * The ranks of the pods, such as "ranks 0-2, 5" or "ranks launcher, worker-[0-2, 5]", or the
   * names of the pods if a pod has no rank.
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
  const ranks = pods.flatMap(({ metadata }) => readUniqueRank(fieldsOrNone(metadata)) ?? [])
  if (ranks.length < pods.length)
    return pods.map(({ metadata }) => asText(fieldsOrNone(metadata).name)).join(', ')
  const byPrefix = Map.groupBy(ranks, ({ prefix }) => prefix)
  const groups = [...byPrefix].map(([prefix, own]) => formatGroup(prefix, own))
  return `${pods.length === 1 ? 'rank' : 'ranks'} ${groups.join(', ')}`
}

/** A rank that is unique in its workload, divided into its last number and the text before it. */
interface UniqueRank {
  readonly prefix: string
  /** Undefined if the rank does not end with a number. */
  readonly number: number | undefined
}

function readUniqueRank(metadata: Fields): UniqueRank | undefined {
  const rank = readPodRank(metadata)
  if (rank === undefined || rank.missing.length > 0) return undefined
  const { label } = rank
  const [digits] = /\d{1,9}$/.exec(label) ?? []
  if (digits === undefined) return { prefix: label, number: undefined }
  return { prefix: label.slice(0, -digits.length), number: Number(digits) }
}

function formatGroup(prefix: string, ranks: readonly UniqueRank[]): string {
  const numbers = ranks.flatMap(({ number }) => number ?? []).sort((a, b) => a - b)
  const all = spans(numbers)
  return prefix === '' || new Set(numbers).size < 2 ? `${prefix}${all}` : `${prefix}[${all}]`
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
