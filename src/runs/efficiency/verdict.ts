import { durationText } from '../../lib/duration.ts'
import { formatList } from '../../lib/format-list.ts'
import type { RunCompletion } from '../ends/run-completion.ts'
import type { RunFinding } from '../findings/evaluate.ts'
import type { Gap, LookedAt } from '../findings/looked-at.ts'
import { isStuck, isStuckAtEnd, NO_PROGRESS } from '../findings/no-progress-rule.ts'
import type { RecordedStart } from '../jobs/recorded-job.ts'
import { factText, podsText, podText } from '../rules/sentence.ts'
import { MIN_EFFICIENCY } from '../rules/time-lost.ts'
import {
  type Factor,
  type FactorName,
  factorText,
  factorWords,
  limitText,
  listFactors,
  WITHOUT_STORAGE,
} from './factor.ts'
import type { Efficiency, ProcessEfficiency } from './run-efficiency.ts'

/** What a verdict is about. */
export interface RunFacts {
  /** The length of the run in seconds; 0 if it is not known. */
  readonly duration: number
  readonly pods: number
  readonly efficiency: Pick<
    Efficiency,
    'basis' | 'root' | 'size' | 'program' | 'elapsed' | 'seen'
  > & {
    readonly processes: readonly Pick<ProcessEfficiency, 'pod'>[]
  }
  /** The largest MPI job of which no process has returned from MPI_Init, if there is one. */
  readonly starting?: RecordedStart | undefined
  /** The findings, the worst first. */
  readonly findings: readonly RunFinding[]
  /** The names of the metrics that were collected. */
  readonly metrics: readonly string[]
  /** What these metrics looked at, and what they did not. */
  readonly looked: LookedAt
  /** Whether the run came to its end; null while it runs. */
  readonly completion: Pick<RunCompletion, 'state' | 'reason'> | null
  /** Whether a log has no end, so that the run may have gone on after it. */
  readonly isCut?: boolean
  /** Whether the run has ended; or whether only its last part is known. */
  readonly span?: RunSpan
  /** Whether processes make no progress now; the findings need not say it. */
  readonly isStuck?: boolean
}

/**
 * What a verdict says about a run, from the worst to the best. A run of which something was not
 * seen is the worst: whatever was seen of it, what was not seen may be worse. So a run that lacks a
 * metric, a log, or the end of a log never has a better verdict than with it.
 */
export const VERDICTS = ['partly-seen', 'failed', 'held-up', 'inefficient', 'well'] as const

export type VerdictKind = (typeof VERDICTS)[number]

/** Returns the kind of a verdict. */
export function verdictKind(facts: RunFacts): VerdictKind {
  const { findings, looked, efficiency, completion, isCut = false } = facts
  const { value } = efficiency.root
  const isKnown = value !== null && completion !== null && completion.state !== 'unknown'
  const isPartial = hasUnknownDelay(efficiency.root) || isOfSomeRanks(efficiency)
  if (!isKnown || isCut || looked.gaps.length > 0 || isPartial) return 'partly-seen'
  const severities = new Set(findings.map(({ severity }) => severity))
  if (severities.has('failure') || completion.state === 'unfinished') return 'failed'
  if (severities.has('slowdown')) return 'held-up'
  return value < MIN_EFFICIENCY ? 'inefficient' : 'well'
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
  const reason = isUnfinished(facts) ? facts.completion?.reason : null
  const hidden = findHidden(facts)
  const parts = [
    `${lengthOf(facts)}${endingOf(facts)}.`,
    failure?.sentence ?? reason ?? [],
    ...(hidden === undefined ? [] : [hiddenText(hidden, facts)]),
    efficiencyText(facts),
    worstFinding(facts),
    gapText(facts.looked.gaps, hidden),
  ]
  return parts.flat().join(' ')
}

/**
 * Returns where processes may have waited forever although they ran, such as in MPI, because it was
 * not looked at; undefined if a run finished, or it is known that it made no progress.
 */
function findHidden({ looked, completion, findings, isStuck: isStuckNow }: RunFacts) {
  if (completion?.state === 'finished' || isStuckNow === true || isStuck(findings)) return undefined
  return looked.gaps.find(({ polled }) => polled !== null)
}

/** Reports whether processes may still wait where it was not looked at. */
export function mayWaitNow(facts: RunFacts): boolean {
  const { completion, isCut = false } = facts
  const mayRun = completion === null || (isCut && !hasFailed(facts))
  return mayRun && findHidden(facts) !== undefined
}

function hiddenText({ what, how, pods, polled }: Gap, { completion }: RunFacts): string {
  const makes = completion === null ? 'makes' : 'made'
  const where = pods === null ? '' : ` in ${podsText(pods)}`
  return (
    `Whether the job ${makes} progress is not known: ${what} were not looked at${where} ` +
    `(${how}), and a process that waits in ${polled} counts as running, so busy processors do ` +
    'not show progress.'
  )
}

function isUnfinished({ completion }: RunFacts): boolean {
  return completion?.state === 'unfinished'
}

function hasFailed({ findings }: RunFacts): boolean {
  return findings.some(({ severity }) => severity === 'failure')
}

/** Returns how a run ended, if that is not as it should. */
function endingOf(facts: RunFacts): string {
  const { findings, isCut = false } = facts
  const isEnd = ({ rule, severity }: RunFinding) =>
    severity === 'failure' && rule !== NO_PROGRESS.name
  if (findings.some(isEnd)) return ' and failed'
  if (facts.isStuck === true || isStuckAtEnd(findings)) return stuckText(facts)
  if (!isUnfinished(facts)) return ''
  return isCut ? '; its end is not known' : ' and did not finish'
}

function stuckText({ completion, span }: RunFacts): string {
  if (completion !== null) return '; it makes no progress, and its end is not known'
  return span === 'last' ? '; it makes no progress' : ' and makes no progress'
}

/**
 * Returns a sentence about the areas that no metric has measured. They may have held the run up.
 *
 * @param hidden the gap that was named before
 */
function gapText(all: readonly Gap[], hidden: Gap | undefined): readonly string[] {
  const gaps = all.filter((gap) => gap !== hidden)
  if (gaps.length === 0) return []
  // Gaps that need the same annotation share it.
  const alike = Map.groupBy(gaps, ({ what, how, pods }) => JSON.stringify([how ?? what, pods]))
  const items = [...alike.values()].map((own) => {
    const [{ how, pods }] = own as [Gap]
    const what = own.map((gap) => gap.what).join(' and ')
    const where = pods === null ? [] : [`in ${podsText(pods)}`]
    const isSaid = how !== null && how === hidden?.how
    const more = how === null ? '' : ` (${isSaid ? 'needs the same annotation' : how})`
    return `${[what, ...where].join(' ')}${more}`
  })
  return [`Not looked at: ${items.join(', ')}.`]
}

/** Returns how long a run took, and on how many MPI ranks or pods. */
function lengthOf(facts: RunFacts): string {
  const { duration, span, findings, completion, isCut = false } = facts
  const goesOn = completion !== null && isStuckAtEnd(findings)
  const length = `${isCut || goesOn ? 'at least ' : ''}${durationText(duration)}`
  const time = duration > 0 ? lengthIn(length, span) : 'Ran'
  return `${time} on ${processesText(facts)}`
}

/** Returns the number of MPI ranks, or if it is not known, that of pods. */
function processesText({ efficiency, starting, pods }: RunFacts): string {
  const { basis, size, processes } = efficiency
  if (basis === 'mpi') return ranksText(size, processes)
  return starting === undefined ? podCount(pods) : ranksText(starting.size, starting.members)
}

/** Returns the number of MPI ranks, with that of their pods if all ranks were recorded. */
function ranksText(size: number, processes: readonly { readonly pod: string }[]): string {
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

function efficiencyText(facts: RunFacts): string {
  const { efficiency, findings, isCut } = facts
  const { basis, root } = efficiency
  const { value, missing } = root
  if (value === null) return `The efficiency is not known: ${missing}.`
  const factors = leadingFactors(root)
  const isPartial = hasUnknownDelay(root)
  const isEnded = isUnfinished(facts) && isCut !== true
  const isHeldUp = isEnded || findings.some(({ severity }) => severity !== 'risk')
  const ofRecorded = recordedText(efficiency)
  if (value >= MIN_EFFICIENCY && !isPartial && !isHeldUp && ofRecorded === '')
    return nothingText(facts, value)
  const named = [...causes(factors, value, findings), ...strengths(factors)].join('; ')
  const about = `${ofRecorded}${partText(facts, 'in the')}`
  const text = `Efficiency ${limitText(root)}${about}${named === '' ? '' : `: ${named}`}.`
  if (!isPartial) return text
  const counted = basis === 'mpi' ? ' and counts as computing or as time in MPI' : ''
  return `${text} The time of waiting for processors is not known${counted}.`
}

/** Says that nothing of what was looked at held a run up. */
function nothingText(facts: RunFacts, value: number): string {
  const { metrics, looked, efficiency, isCut } = facts
  const seen = looked.seen.length === 0 ? '' : ` (${looked.seen.join(', ')})`
  const verb = metrics.length === 1 ? 'sees' : 'see'
  const until = isCut === true ? ' until then' : ''
  const percent = `${Math.round(100 * value)} %`
  // A process that polls for others runs, too.
  const canPoll = efficiency.basis === 'processors' && looked.gaps.some(({ isOfTool }) => isOfTool)
  const ofTime = partText(facts, 'of the') || ' of the time'
  const part = canPoll
    ? `a process${ofProgram(efficiency)} ran for ${percent}${ofTime}`
    : `${percent} of the time${partText(facts, 'in the')} was spent computing`
  const names = formatList(metrics, 'and')
  return `Nothing that ${names} ${verb}${seen} held this run up${until}: ${part}.`
}

function ofProgram({ program }: RunFacts['efficiency']): string {
  return program === null ? '' : ` of ${program}`
}

/** Says which ranks an efficiency is about, if that is only a part of them. */
function recordedText(efficiency: RunFacts['efficiency']): string {
  if (!isOfSomeRanks(efficiency)) return ''
  return ` of the ${efficiency.processes.length} recorded of ${efficiency.size} MPI ranks`
}

/** An efficiency that covers at least this part of a job counts as that of the whole job. */
const WHOLE = 0.95

/**
 * Says which time an efficiency is about, if that is only a part: the calls of MPI were not
 * recorded until the end, or the samples do not cover the time of the container.
 *
 * @param words the words before it, such as `in the`
 */
function partText({ efficiency, duration }: RunFacts, words: string): string {
  const { basis, elapsed, seen } = efficiency
  const isMpi = basis === 'mpi'
  if (elapsed >= WHOLE * (isMpi ? seen : duration)) return ''
  return ` ${words} ${isMpi ? 'first' : 'sampled'} ${durationText(elapsed)}`
}

function isOfSomeRanks({ basis, size, processes }: RunFacts['efficiency']): boolean {
  return basis === 'mpi' && processes.length < size
}

function hasUnknownDelay(root: Factor): boolean {
  return listFactors(root).some(isMissingDelay)
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
  return missing !== null && name === 'platform'
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
      return factors.some((one) => one.missing === WITHOUT_STORAGE)
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
  const cause = worst && (worst.pods[0]?.cause ?? PLATFORM_CAUSES[worst.rule])
  return cause ?? WAITED
}

const WAITED = 'threads waited for a processor'

/** The causes of findings that name none themselves. */
const PLATFORM_CAUSES: Partial<Record<RunFinding['rule'], string>> = {
  throttled: 'the CPU limit kept threads from running',
  'pinned-to-same-core': 'processes were bound to the same processor',
  'waiting-for-cpu': WAITED,
}

/**
 * Returns the finding that lost the most time, or if there is none, the first risk; of a run that
 * failed, no risk.
 */
function worstFinding(facts: RunFacts): readonly string[] {
  const isFailed = hasFailed(facts)
  const worst = facts.findings.find(({ severity }) => severity !== 'failure')
  if (worst === undefined || (isFailed && worst.severity === 'risk')) return []
  const { title, lost, pods } = worst
  const waiting = pods.length === 1 ? podText(pods[0]?.pod ?? '') : `${pods.length} pods`
  const where = [waiting, ...lateRank(pods)].join(' waited for ')
  const time = lost === null ? '' : `, ${factText({ value: lost, unit: 's' })}`
  const slowdown = isFailed ? 'Another finding' : 'Worst finding'
  const word = worst.severity === 'risk' ? 'Risk' : slowdown
  return [`${word}: ${title} (${where}${time}).`]
}

/** Returns the name of the rank for which all pods of a finding waited, if there is one. */
function lateRank(pods: RunFinding['pods']): readonly string[] {
  const late = new Set(pods.map(({ waitedFor }) => waitedFor && `MPI rank ${waitedFor.mpiRank}`))
  const [name] = late
  return late.size === 1 && name !== undefined ? [name] : []
}
