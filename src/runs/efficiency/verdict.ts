import { roundTo } from '../../lib/round.ts'
import type { RunFinding } from '../findings/evaluate.ts'
import { factText, podText } from '../rules/sentence.ts'
import { MIN_EFFICIENCY } from '../rules/time-lost.ts'
import { type Factor, type FactorName, factorText, factorWords, listFactors } from './factor.ts'
import type { Efficiency, ProcessEfficiency } from './run-efficiency.ts'

/** What a verdict is about. */
export interface RunFacts {
  /** The length of the run in seconds; 0 if it is not known. */
  readonly duration: number
  /** The number of pods; in a report, a pod is a pod. */
  readonly pods: number
  readonly efficiency: Pick<Efficiency, 'basis' | 'root' | 'size'> & {
    readonly processes: readonly Pick<ProcessEfficiency, 'pod'>[]
  }
  /** The findings, the worst first. */
  readonly findings: readonly RunFinding[]
  /** Whether the run has ended; or whether only its last part is known. */
  readonly span?: RunSpan
}

/** The part of a run that is known: all of it, or while it runs, its beginning or its last part. */
export type RunSpan = 'whole' | 'so far' | 'last'

/** The value from which a factor is named as one that was no problem. */
const VERY_GOOD = 0.9
/** The most factors that are named as causes. */
const MAX_CAUSES = 2

/** Returns how a run went, in a few sentences for people. */
export function verdict(facts: RunFacts): string {
  const failure = facts.findings.find(({ severity }) => severity === 'failure')
  const parts = [
    `${lengthOf(facts)}${failure === undefined ? '' : ' and failed'}.`,
    ...(failure === undefined ? [] : [failure.sentence]),
    efficiencyText(facts),
    ...worstLoss(facts),
  ]
  return parts.join(' ')
}

/** Returns how long a run took, and on how many MPI ranks or pods. */
function lengthOf({ duration, pods, efficiency, span }: RunFacts): string {
  const time = duration > 0 ? lengthIn(durationText(duration), span) : 'Ran'
  return `${time} on ${efficiency.basis === 'mpi' ? ranksText(efficiency) : podCount(pods)}`
}

/** Returns the number of MPI ranks, with that of their pods if all ranks were recorded. */
function ranksText({ size, processes }: RunFacts['efficiency']): string {
  const ranks = `${size} MPI ${size === 1 ? 'rank' : 'ranks'}`
  if (processes.length < size) return ranks
  return `${ranks} in ${podCount(new Set(processes.map(({ pod }) => pod)).size)}`
}

function podCount(count: number): string {
  return `${count} ${count === 1 ? 'pod' : 'pods'}`
}

function lengthIn(duration: string, span: RunSpan = 'whole'): string {
  switch (span) {
    case 'whole':
      return `Took ${duration}`
    case 'so far':
      return `Has taken ${duration} so far`
    case 'last':
      return `The last ${duration}`
  }
}

function durationText(seconds: number): string {
  if (seconds < 10) return `${roundTo(seconds, 2)} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return `${roundTo(seconds / 3600, 3)} h`
}

function efficiencyText({ efficiency: { basis, root }, findings }: RunFacts): string {
  const { value, missing } = root
  if (value === null) return `The efficiency is not known: ${missing}.`
  const factors = leadingFactors(root)
  const isPartial = listFactors(root).some(isMissingDelay)
  const isHeldUp = findings.some(({ severity }) => severity !== 'risk')
  if (value >= MIN_EFFICIENCY && !isPartial && !isHeldUp)
    return `Nothing held this run up: ${Math.round(100 * value)} % of the time was spent computing.`
  const named = [...causes(factors, value, findings), ...strengths(factors)].join('; ')
  const text = `Efficiency ${factorText(value)}${named === '' ? '' : `: ${named}`}.`
  if (!isPartial) return text
  const counted = basis === 'mpi' ? ' and counts as computing or as time in MPI' : ''
  return `${text} The time of waiting for processors is not known${counted}.`
}

/**
 * Returns the factors that are named: those whose product is the efficiency, and if communication
 * and platform can be separated, these two instead of their product.
 */
function leadingFactors({ parts }: Factor): readonly Factor[] {
  return parts.flatMap((one) => {
    const isSeparated = one.name === 'communication-and-platform' && isKnown(one)
    return isSeparated ? one.parts : [one]
  })
}

/** Reports whether a factor is missing because the time of waiting for processors is not known. */
function isMissingDelay({ name, missing }: Factor): boolean {
  return missing !== null && name !== 'storage'
}

function isKnown({ parts }: Factor): boolean {
  return parts.every(({ value }) => value !== null)
}

/** Returns the factors that made the run inefficient, the worst first. */
function causes(
  factors: readonly Factor[],
  efficiency: number,
  findings: readonly RunFinding[],
): readonly string[] {
  const sorted = factors.filter(({ value }) => value !== null).sort(byValue)
  const low = sorted.filter(({ value }) => (value ?? 1) < MIN_EFFICIENCY).slice(0, MAX_CAUSES)
  const named = low.length > 0 || efficiency >= MIN_EFFICIENCY ? low : sorted.slice(0, 1)
  return named.map((one) => `${causeText(one, factors, findings)} (${valueText(one)})`)
}

function byValue(a: Factor, b: Factor): number {
  return (a.value ?? 1) - (b.value ?? 1)
}

/** Returns the best of the factors that were no problem. */
function strengths(factors: readonly Factor[]): readonly string[] {
  const good = factors.filter(({ value }) => value !== null && value >= VERY_GOOD)
  const [best] = good.filter(({ name }) => name in STRENGTHS).sort((a, b) => byValue(b, a))
  return best === undefined ? [] : [`${STRENGTHS[best.name]} (${valueText(best)})`]
}

function valueText({ name, value }: Factor): string {
  return `${factorWords(name)} ${factorText(value ?? 0)}`
}

const STRENGTHS: Partial<Record<FactorName, string>> = {
  'load-balance': 'the work was even',
  communication: 'little time was spent in MPI',
  platform: 'threads that could run had a processor',
}

function causeText(
  { name }: Factor,
  factors: readonly Factor[],
  findings: readonly RunFinding[],
): string {
  switch (name) {
    case 'platform':
      return platformText(findings)
    case 'load-balance':
      return 'the work was uneven'
    case 'communication':
    case 'communication-and-platform':
      return 'much time was spent in MPI'
    case 'storage':
      return 'the processes waited for storage'
    case 'activity':
      return factors.some((one) => one.name === 'storage' && one.value === null)
        ? 'the processes were idle or waited for storage'
        : 'the processes were idle'
    default:
      return factorWords(name)
  }
}

/** Returns why threads waited for processors, as far as the findings know. */
function platformText(findings: readonly RunFinding[]): string {
  const found = findings.filter(({ rule }) => rule in PLATFORM_CAUSES)
  const [worst] = [...found].sort((a, b) => (b.lost ?? 0) - (a.lost ?? 0))
  const isOther = worst?.rule === 'waiting-for-cpu' && !isShared(worst)
  if (worst === undefined || isOther) return 'threads waited for a processor'
  return PLATFORM_CAUSES[worst.rule] ?? 'threads waited for a processor'
}

const PLATFORM_CAUSES: Partial<Record<RunFinding['rule'], string>> = {
  throttled: 'the CPU limit kept threads from running',
  'pinned-to-same-core': 'processes were bound to the same processor',
  'waiting-for-cpu': 'the processors of the node were shared',
}

/** Reports whether threads waited although no limit kept them from running. */
function isShared({ pods }: RunFinding): boolean {
  return pods.every(({ cause, facts }) => {
    return cause === undefined && !facts.some(({ name }) => name === 'percent_wait')
  })
}

/** Returns the finding that lost the most time, if the efficiency does not name its cause. */
function worstLoss({ findings }: RunFacts): readonly string[] {
  const slow = findings.filter(({ severity }) => severity === 'slowdown')
  const [worst] = slow
  if (worst === undefined) return []
  const { title, lost, pods } = worst
  const waiting = pods.length === 1 ? podText(pods[0]?.pod ?? '') : `${pods.length} pods`
  const where = [waiting, ...latePod(pods)].join(' for ')
  const time = lost === null ? '' : `, ${factText({ value: lost, unit: 's' })}`
  return [`Worst finding: ${title} (${where}${time}).`]
}

/** Returns the name of the pod for which all pods of a finding waited, if there is one. */
function latePod(pods: RunFinding['pods']): readonly string[] {
  const late = new Set(pods.map(({ waitedFor }) => waitedFor && `MPI rank ${waitedFor.mpiRank}`))
  const [name] = late
  return late.size === 1 && name !== undefined ? [name] : []
}
