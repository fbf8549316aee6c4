import type { Fields } from '../../core/kubernetes/json.ts'
import { printable } from '../../core/text/printable.ts'
import { durationText } from '../../lib/duration.ts'
import { timeOrNull } from '../../lib/rfc3339.ts'
import { rounded } from '../../lib/round.ts'
import { type AttemptGroup, groupAttempts, MAX_ATTEMPT_GROUPS } from '../attempts/attempt-groups.ts'
import type { RoleAdvice } from '../card/advice.ts'
import { cardDocument } from '../card/card-document.ts'
import { findingText } from '../card/card-findings.ts'
import { comparedText, coresText, shortBytes, UNKNOWN } from '../card/card-numbers.ts'
import type { RunCard } from '../card/run-card.ts'
import { type Factor, factorText, limitText } from '../efficiency/factor.ts'
import { isOver } from '../facts/run.ts'
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
  const { run, podsSeen, started, ended, seconds } = card
  const { time, attempts, cores, memoryBytes, ...others } = cardDocument(card)
  const { efficiency, roles, findings, advice, missing } = others
  return {
    phase: run.phase,
    started: timeOrNull(started),
    ended: timeOrNull(ended),
    // While a run goes on, only its start is stored: a Run is not written because time passes.
    seconds: isOver(run.phase) ? rounded(seconds) : null,
    pods: run.podCounts,
    podsSeen,
    verdict: verdictOf(card),
    summary: summarize(card),
    time: isOver(run.phase) ? time : null,
    attempts,
    card: { cores, memoryBytes, efficiency, roles, findings, advice, missing },
  }
}

const MAX_FINDING = 120

/** Returns the texts of the columns that kubectl prints. */
function summarize({ run, seconds, cores, memory, efficiency, findings: [first] }: RunCard) {
  return {
    run: `${run.word}/${run.name}`,
    pods: `${run.podCounts.observed}/${run.podCounts.expected}`,
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
  const { expected } = run.podCounts
  const took = seconds === null ? 'Ran' : `Took ${durationText(seconds)}`
  const time = isOver(run.phase) ? took : 'Runs'
  const end = run.phase === 'Failed' ? ' and failed' : ''
  const sentences = [
    `${time} on ${expected} ${expected === 1 ? 'pod' : 'pods'}${end}.`,
    ...(first === undefined ? [] : [`Finding: ${findingText(first)}.`]),
    efficiency.value === null
      ? `The efficiency is not known: ${efficiency.missing}.`
      : `Efficiency ${limitText(efficiency)}.`,
  ]
  return printable(sentences.join(' '), MAX_VERDICT)
}

/** How much of a card is kept. */
interface CardLimits {
  readonly roles: number
  readonly containers: number
  readonly attempts: number
  /** The most sentences in each list. */
  readonly sentences: number
  /** The most UTF-16 code units of a text. */
  readonly text: number
}

/** The numbers of roles and sentences that a card lacks because of its limits. */
interface Omitted {
  readonly roles: number
  readonly missing: number
}

/** The limits of a card in an object Run; the next ones are for a card that is still too large. */
const CARD_LIMITS: readonly CardLimits[] = [
  { roles: 16, containers: 8, attempts: MAX_ATTEMPT_GROUPS, sentences: 8, text: 256 },
  { roles: 8, containers: 4, attempts: 12, sentences: 4, text: 192 },
  { roles: 4, containers: 2, attempts: 8, sentences: 2, text: 128 },
  { roles: 1, containers: 1, attempts: 4, sentences: 1, text: 96 },
]

/** The limits of a card that always fits. */
const MIN_CARD: CardLimits = { roles: 0, containers: 0, attempts: 4, sentences: 0, text: 64 }

/** Shortens the lists and texts of a card, and escapes texts: users of pods can write them. */
function limitCard(
  card: RunCard,
  limits: CardLimits,
): { readonly card: RunCard; readonly omitted: Omitted } {
  const show = (text: string) => printable(text, limits.text)
  const roles = card.roles.slice(0, limits.roles)
  const findings = card.findings.slice(0, Math.max(limits.sentences, 1))
  const missing = card.missing.slice(0, limits.sentences)
  return {
    card: {
      ...card,
      time:
        card.time === null
          ? null
          : { ...card.time, reasons: card.time.reasons.slice(0, limits.sentences).map(show) },
      attempts: groupAttempts(card.attempts, limits.attempts).map((group) =>
        showAttempt(group, limits),
      ),
      efficiency: showFactor(card.efficiency, show),
      roles: roles.map((role) => ({
        ...role,
        role: show(role.role),
        memory: showPod(role.memory, show),
      })),
      memory: showPod(card.memory, show),
      findings: findings.map((finding) => ({
        ...showPod(finding, show),
        sentence: show(finding.sentence),
      })),
      advice: card.advice.slice(0, limits.roles).map((advice) => limitAdvice(advice, limits)),
      missing: missing.map(show),
    },
    omitted: {
      roles: card.roles.length - roles.length,
      missing: card.missing.length - missing.length,
    },
  }
}

type Show = (text: string) => string

function showPod<Named extends { readonly podIndex: string | null }>(
  named: Named,
  show: Show,
): Named {
  return { ...named, podIndex: named.podIndex === null ? null : show(named.podIndex) }
}

/** A card has many attempts, and their texts are names. */
function showAttempt(group: AttemptGroup, limits: CardLimits): AttemptGroup {
  const show = (text: string | null) => (text === null ? null : printable(text, limits.text / 4))
  const { podIndex, container, reason } = group
  return { ...group, podIndex: show(podIndex), container: show(container), reason: show(reason) }
}

function showFactor(one: Factor, show: Show): Factor {
  return {
    ...one,
    missing: one.missing === null ? null : show(one.missing),
    parts: one.parts.map((part) => showFactor(part, show)),
  }
}

function limitAdvice(advice: RoleAdvice, limits: CardLimits): RoleAdvice {
  const show = (text: string) => printable(text, limits.text)
  // Advice without a reason would look as if it were not refused.
  const refusals = advice.refusals.slice(0, Math.max(limits.sentences, 1)).map(show)
  const more = advice.refusals.length - refusals.length
  return {
    ...advice,
    role: show(advice.role),
    refusals: more === 0 ? refusals : [...refusals, `and ${more} more reasons`],
    containers: advice.containers.slice(0, limits.containers).map((container) => ({
      ...container,
      name: show(container.name),
      seenIn: {
        cpu: container.seenIn.cpu === null ? null : show(container.seenIn.cpu),
        memory: container.seenIn.memory === null ? null : show(container.seenIn.memory),
      },
    })),
  }
}
