import { groupOf } from '../../core/kubernetes/group.ts'
import {
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
  numberOrNull,
} from '../../core/kubernetes/json.ts'
import { readTime } from '../../lib/rfc3339.ts'
import { readAttempts } from '../attempts/attempts-document.ts'
import type { ContainerAdvice, RoleAdvice } from '../card/advice.ts'
import { ADVICE_MARGIN } from '../card/advice.ts'
import { CARD_FINDINGS, findingPrefix } from '../card/card-findings.ts'
import type { Compared, RoleCard } from '../card/role-card.ts'
import type { RunCard } from '../card/run-card.ts'
import { FACTORS, type Factor, type FactorName, missingFactor } from '../efficiency/factor.ts'
import type { ComputeAmounts } from '../facts/container-facts.ts'
import { isOver, type Run, readPhase, wordOfKind } from '../facts/run.ts'
import { readTimeDocument } from '../time/time-document.ts'

/**
 * Reads the card in an object Run; undefined if it has no workload or status yet. A number or text
 * of the wrong type counts as not known.
 *
 * @param now the time in milliseconds since 1970
 */
export function readRunCard({ metadata, spec, status }: Fields, now: number): RunCard | undefined {
  const found = fieldsOrNone(status)
  const run = readRun(fieldsOrNone(metadata), fieldsOrNone(fieldsOrNone(spec).workload), found)
  if (run === undefined) return undefined
  const card = fieldsOrNone(found.card)
  const started = readTime(found.started)
  const { roles: leftOut, missing: others } = fieldsOrNone(found.omitted)
  const more = [
    ...sentence(numberOrNull(others), 'more reasons are not kept'),
    ...sentence(numberOrNull(leftOut), 'more roles are not kept'),
  ]
  return {
    run,
    podsSeen: numberOrNull(found.podsSeen) ?? 0,
    started,
    ended: readTime(found.ended),
    seconds:
      isOver(run.phase) || started === null ? numberOrNull(found.seconds) : since(started, now),
    time: readTimeDocument(found.time),
    attempts: readAttempts(found.attempts),
    cores: readCompared(card.cores),
    memory: readMemory(card.memoryBytes),
    efficiency: readEfficiency(asObjects(card.efficiency)),
    roles: asObjects(card.roles).map(readRole),
    findings: asObjects(card.findings).flatMap((one) => readFinding(one) ?? []),
    advice: asObjects(card.advice).map(readAdvice),
    missing: [...readTexts(card.missing), ...more],
    page: readPage(asText(fieldsOrNone(found.rows).url)),
  }
}

function since(started: number, now: number): number {
  return Math.max(now - started, 0) / 1000
}

function sentence(count: number | null, end: string): readonly string[] {
  return count === null || count === 0 ? [] : [`${count} ${end}`]
}

function readRun(metadata: Fields, workload: Fields, status: Fields): Run | undefined {
  const [apiVersion, kind, name, uid, namespace] = [
    workload.apiVersion,
    workload.kind,
    workload.name,
    workload.uid,
    metadata.namespace,
  ].map(asText)
  const phase = readPhase(status.phase)
  if (!apiVersion || !kind || !name || !uid || !namespace || phase === undefined) return undefined
  const group = groupOf(apiVersion)
  const { observed, expected } = fieldsOrNone(status.pods)
  return {
    namespace,
    word: wordOfKind({ group, kind }),
    group,
    apiVersion,
    kind,
    name,
    uid,
    revision: asText(workload.revision) ?? null,
    phase,
    pods: [],
    podCounts: { observed: numberOrNull(observed) ?? 0, expected: numberOrNull(expected) ?? 0 },
    begun: null,
    hasLostPods: false,
    lostPods: 0,
  }
}

/** A terminal makes a link of a URL, so that of a web server is the only one that is shown. */
function readPage(url: string | undefined): string | null {
  return url !== undefined && /^https?:\/\/[^\s]+$/.test(url) ? url : null
}

function readTexts(value: unknown): readonly string[] {
  return listOrNone(value).flatMap((text) => asText(text) ?? [])
}

function readCompared(value: unknown): Compared {
  const { used, requested, limit } = fieldsOrNone(value)
  return {
    used: numberOrNull(used),
    requested: numberOrNull(requested),
    limit: numberOrNull(limit),
  }
}

function readMemory(value: unknown): RunCard['memory'] {
  return { ...readCompared(value), podIndex: asText(fieldsOrNone(value).podIndex) ?? null }
}

/**
 * Reads the factors as a list: the first is the efficiency, and the others are its parts. Its value
 * is the greatest that the summaries allow, as on the card (`processorFactors`).
 */
function readEfficiency(rows: readonly Fields[]): Factor {
  const [root = missingFactor('efficiency', 'no summary has been read'), ...parts] = rows.flatMap(
    (row) => readFactor(row) ?? [],
  )
  return { ...root, least: root.value === null ? null : 0, parts }
}

function readFactor({ name, value, missing }: Fields): Factor | undefined {
  const known = asText(name)
  if (known === undefined || !Object.hasOwn(FACTORS, known)) return undefined
  return {
    name: known as FactorName,
    value: numberOrNull(value),
    missing: asText(missing) ?? null,
    least: null,
    parts: [],
  }
}

function readRole(row: Fields): RoleCard {
  return {
    role: asText(row.role) ?? '',
    pods: numberOrNull(row.pods) ?? 0,
    known: numberOrNull(row.knownPods) ?? 0,
    cores: readCompared(row.cores),
    memory: readMemory(row.memoryBytes),
    throttled: numberOrNull(row.throttledSeconds),
    throttledPeriods: numberOrNull(row.throttledPeriods),
    runDelay: numberOrNull(row.waitedForProcessorSeconds),
    storage: numberOrNull(row.waitedForStorageSeconds),
    cpu: numberOrNull(row.cpuSeconds),
  }
}

function readFinding({ rule, severity, podIndex, otherPods, sentence }: Fields) {
  const name = CARD_FINDINGS.find((known) => known === rule)
  if (name === undefined) return undefined
  const subject = { podIndex: asText(podIndex) ?? null, others: numberOrNull(otherPods) ?? 0 }
  const [text, start] = [asText(sentence) ?? '', findingPrefix(subject)]
  return {
    name,
    severity: severity === 'failure' ? ('failure' as const) : ('slowdown' as const),
    ...subject,
    sentence: text.startsWith(start) ? text.slice(start.length) : text,
  }
}

function readAdvice({ role, basis, refusals, containers }: Fields): RoleAdvice {
  const { pods } = fieldsOrNone(basis)
  return {
    role: asText(role) ?? '',
    basis: { runs: 1, pods: numberOrNull(pods) ?? 0, percentile: 100, margin: ADVICE_MARGIN },
    refusals: readTexts(refusals),
    containers: asObjects(containers).map(readContainerAdvice),
  }
}

function readContainerAdvice(row: Fields): ContainerAdvice {
  const [now, seenIn] = [row.now, row.seenIn].map(fieldsOrNone)
  return {
    name: asText(row.name) ?? '',
    seen: readAmounts(row.seen),
    seenIn: { cpu: asText(seenIn?.cpu) ?? null, memory: asText(seenIn?.memory) ?? null },
    now: { requests: readAmounts(now?.requests), limits: readAmounts(now?.limits) },
    requests: readAmounts(row.requests),
    limits: readAmounts(row.limits),
  }
}

function readAmounts(value: unknown): ComputeAmounts {
  const { cpu, memory } = fieldsOrNone(value)
  return { cpu: numberOrNull(cpu), memory: numberOrNull(memory) }
}
