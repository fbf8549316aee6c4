import type { Fields } from '../../core/kubernetes/json.ts'
import { printable } from '../../core/text/printable.ts'
import { rounded } from '../../lib/round.ts'
import { cardDocument } from '../card/card-document.ts'
import { findingText } from '../card/card-findings.ts'
import { comparedText, coresText, durationText, shortBytes, UNKNOWN } from '../card/card-numbers.ts'
import { isOver } from '../card/run.ts'
import type { RunCard } from '../card/run-card.ts'
import { factorText } from '../efficiency/factor.ts'
import { CARD_LIMITS, type CardLimits, limitCard, MIN_CARD } from './limit-card.ts'
import { listConditions, type RunCondition } from './run-conditions.ts'
import { nameRun } from './run-name.ts'

export const RUN_API_VERSION = 'ridealong.dev/v1alpha1'
export const RUNS_PLURAL = 'runs'

/**
 * The most bytes of the spec and status of an object Run. With its metadata and the managed fields
 * that the apiserver adds, it then has at most 16 KiB.
 */
export const MAX_BYTES = 12 * 1024

/** An object Run. */
export interface RunObject {
  readonly apiVersion: typeof RUN_API_VERSION
  readonly kind: 'Run'
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: { readonly workload: WorkloadOfRun }
  readonly status: Fields & {
    readonly phase: string
    readonly conditions: readonly RunCondition[]
  }
}

export interface WorkloadOfRun {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly revision?: string
}

/**
 * Builds the object Run from the card of a run. Texts are escaped, and lists are shortened until
 * the object is small enough.
 *
 * @param times since when the conditions of the object are true, by type
 * @param now the time in milliseconds since 1970
 */
export function buildRunObject(
  whole: RunCard,
  times: ReadonlyMap<string, string>,
  now: number,
): RunObject {
  const { run } = whole
  const { apiVersion, kind, name, uid, revision } = run
  const workload = { apiVersion, kind, name, uid, ...(revision === null ? {} : { revision }) }
  // Until its end, every observer of a run lacks its summary.
  const known = isOver(run.phase) ? whole : { ...whole, missing: [] }
  const conditions = listConditions(known, times, now)
  const build = (limits: CardLimits) => {
    const { card, omitted } = limitCard(known, limits)
    return { ...buildStatus(card), omitted, conditions }
  }
  const fits = (limits: CardLimits) => {
    return Buffer.byteLength(JSON.stringify({ workload, status: build(limits) })) <= MAX_BYTES
  }
  const status = build(CARD_LIMITS.find(fits) ?? MIN_CARD)
  return {
    apiVersion: RUN_API_VERSION,
    kind: 'Run',
    metadata: { name: nameRun(run), namespace: run.namespace },
    spec: { workload },
    status,
  }
}

function buildStatus(card: RunCard) {
  const { run, podCount, started, ended, seconds } = card
  const { cores, memoryBytes, efficiency, roles, findings, advice, missing } = cardDocument(card)
  return {
    phase: run.phase,
    started: timeText(started),
    ended: timeText(ended),
    // While a run goes on, only its start is stored: a Run is not written because time passes.
    seconds: isOver(run.phase) ? rounded(seconds) : null,
    ranks: run.ranks,
    pods: podCount,
    verdict: verdictOf(card),
    summary: summarize(card),
    card: { cores, memoryBytes, efficiency, roles, findings, advice, missing },
  }
}

function timeText(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString()
}

const MAX_FINDING = 120

/** Returns the texts of the columns that kubectl prints. */
function summarize({ run, seconds, cores, memory, efficiency, findings: [first] }: RunCard) {
  return {
    run: `${run.word}/${run.name}`,
    ranks: `${run.ranks.observed}/${run.ranks.expected}`,
    time: seconds === null || !isOver(run.phase) ? UNKNOWN : durationText(seconds),
    cores: comparedText(cores, coresText),
    memory: comparedText(memory, shortBytes),
    efficiency: efficiency.value === null ? UNKNOWN : factorText(efficiency.value),
    finding: first === undefined ? UNKNOWN : printable(findingText(first), MAX_FINDING),
  }
}

const MAX_VERDICT = 512

/** Returns how a run went, in a few sentences. */
function verdictOf({ run, seconds, efficiency, findings: [first] }: RunCard): string {
  const { expected } = run.ranks
  const took = seconds === null ? 'Ran' : `Took ${durationText(seconds)}`
  const time = isOver(run.phase) ? took : 'Runs'
  const end = run.phase === 'Failed' ? ' and failed' : ''
  const sentences = [
    `${time} on ${expected} ${expected === 1 ? 'rank' : 'ranks'}${end}.`,
    ...(first === undefined ? [] : [`Finding: ${findingText(first)}.`]),
    efficiency.value === null
      ? `The efficiency is not known: ${efficiency.missing}.`
      : `Efficiency ${factorText(efficiency.value)}.`,
  ]
  return printable(sentences.join(' '), MAX_VERDICT)
}
