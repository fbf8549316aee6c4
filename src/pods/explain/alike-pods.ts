import type { Catalog } from '../../core/catalog.ts'
import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { readPodIndex } from '../../core/rules/pod-index.ts'
import { cameOut, type InjectionOutcome } from './injection-outcome.ts'

/** Pods of one workload that have the same outcome. */
export interface Likes {
  /** The outcome in words. */
  readonly word: string
  readonly pods: readonly [Fields, ...Fields[]]
  /**
   * The indexes of the pods, such as "pods 0-2, 5" or "pods launcher, worker-[0-2, 5]", or the
   * names of the pods if a pod has no index.
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
  return [...groups].map(([word, group]) => ({ word, pods: group, which: formatPods(group) }))
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

function formatPods(pods: readonly Fields[]): string {
  const indexes = pods.flatMap(({ metadata }) => readUniqueIndex(fieldsOrNone(metadata)) ?? [])
  if (indexes.length < pods.length)
    return pods.map(({ metadata }) => asText(fieldsOrNone(metadata).name)).join(', ')
  const byPrefix = Map.groupBy(indexes, ({ prefix }) => prefix)
  const groups = [...byPrefix].map(([prefix, own]) => formatGroup(prefix, own))
  return `${pods.length === 1 ? 'pod' : 'pods'} ${groups.join(', ')}`
}

/** An index that is unique in its workload, divided into its last number and the text before it. */
interface UniqueIndex {
  readonly prefix: string
  /** Undefined if the index does not end with a number. */
  readonly number: number | undefined
}

function readUniqueIndex(metadata: Fields): UniqueIndex | undefined {
  const podIndex = readPodIndex(metadata)
  if (podIndex === undefined || podIndex.missing.length > 0) return undefined
  const { label } = podIndex
  const [digits] = /\d{1,9}$/.exec(label) ?? []
  if (digits === undefined) return { prefix: label, number: undefined }
  return { prefix: label.slice(0, -digits.length), number: Number(digits) }
}

function formatGroup(prefix: string, indexes: readonly UniqueIndex[]): string {
  const numbers = indexes.flatMap(({ number }) => number ?? []).sort((a, b) => a - b)
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
