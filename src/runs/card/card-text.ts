import { durationText } from '../../lib/duration.ts'
import type { TextBlock } from '../../lib/output-format.ts'
import { percentText } from '../../lib/round.ts'
import { formatAttempts } from '../attempts/attempts-text.ts'
import {
  type Factor,
  factorText,
  factorWords,
  limitText,
  listFactors,
} from '../efficiency/factor.ts'
import { bytesText } from '../rules/sentence.ts'
import { formatTime } from '../time/time-text.ts'
import type { RoleAdvice } from './advice.ts'
import { findingText } from './card-findings.ts'
import { coresText, cpuQuantity, memoryQuantity } from './card-numbers.ts'
import type { Compared, RoleCard } from './role-card.ts'
import type { RunCard } from './run-card.ts'

/** The width of a card in characters: it fits beside another one, and in an e-mail. */
export const CARD_WIDTH = 60

const BAR = 10
const MAX_MISSING = 5

type Row = readonly [string, string]

/** Formats the card of a run for people, to be wrapped at `CARD_WIDTH`. */
export function formatCard(card: RunCard): readonly TextBlock[] {
  const { run, roles, efficiency, findings, missing } = card
  const { word, name, namespace } = run
  return [
    `${word}/${name} in namespace ${namespace}`,
    rows([
      ['phase', run.phase],
      ['time', card.seconds === null ? 'has not started' : durationText(card.seconds)],
      ['pods', `${run.podCounts.observed} of ${run.podCounts.expected} observed`],
      ...(run.revision === null ? [] : ([['revision', run.revision]] as const)),
      ['efficiency', efficiencyText(efficiency)],
      ...(card.page === null ? [] : ([['page', card.page]] as const)),
    ]),
    ...(card.time === null ? [] : ['', ...formatTime(card.time, CARD_WIDTH)]),
    ...formatAttempts(card.attempts),
    ...roles.flatMap((role) => ['', ...formatRole(role)]),
    ...section('Findings', findings.map(findingText)),
    ...section('Missing', shorten([...missing, ...(card.time?.reasons ?? [])])),
    ...section('Advice (--advice prints it as YAML)', card.advice.flatMap(adviceLines)),
  ]
}

function rows(lines: readonly Row[]): TextBlock {
  return { rows: lines, indent: 2 }
}

function section(title: string, sentences: readonly string[]): readonly TextBlock[] {
  if (sentences.length === 0) return []
  return ['', title, { rows: sentences.map((sentence) => ['-', sentence]), indent: 2 }]
}

function shorten(sentences: readonly string[]): readonly string[] {
  const shown = sentences.slice(0, MAX_MISSING)
  const more = sentences.length - shown.length
  return more === 0 ? shown : [...shown, `and ${more} more`]
}

function efficiencyText(root: Factor): string {
  if (root.value === null) return `not known: ${root.missing}`
  const parts = listFactors(root)
    .slice(1)
    .flatMap(({ name, value }) => {
      return value === null ? [] : [`${factorWords(name)} ${factorText(value)}`]
    })
  const detail = parts.length === 0 ? '' : ` (${parts.join(', ')})`
  return `${limitText(root)}${detail}`
}

function formatRole(card: RoleCard): readonly TextBlock[] {
  const { role, pods, known, memory } = card
  const count = `${pods} ${pods === 1 ? 'pod' : 'pods'}`
  const part = known < pods ? `, ${known} with a summary` : ''
  const name = role === '' ? 'All pods' : `Role ${role}`
  const of = memory.podIndex === null || pods === 1 ? '' : ` (pod ${memory.podIndex})`
  return [
    `${name}: ${count}${part}`,
    rows([
      ['processors', compareText(card.cores, coresText)],
      ['memory peak', `${compareText(memory, bytesText)}${of}`],
      ['throttled', throttledText(card)],
      ['waited for processors', waitedText(card)],
      ['waited for storage', secondsText(card.storage, 'only cgroup version 2 has this time')],
    ]),
  ]
}

type Format = (value: number) => string

function compareText(compared: Compared, format: Format): string {
  const { used, requested, limit } = compared
  const text = used === null ? 'not known' : format(used)
  const bound = requested ?? limit
  if (bound === null) return used === null ? text : `${text}, none requested`
  const part = used === null || bound === 0 ? null : used / bound
  const of = `of ${format(bound)} ${requested === null ? 'allowed' : 'requested'}`
  return `${barText(part)}${text} ${of}${partText(part)}${limitOf(compared, format)}`
}

/** Returns the limit if it differs from the request. */
function limitOf({ requested, limit }: Compared, format: Format): string {
  const isSame = requested === null || limit === null || limit === requested
  return isSame ? '' : `, limit ${format(limit)}`
}

function barText(part: number | null): string {
  if (part === null) return ''
  const full = Math.min(Math.round(part * BAR), BAR)
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] `
}

function partText(part: number | null): string {
  return part === null ? '' : ` (${percentText(part)})`
}

function throttledText({ throttled, throttledPeriods }: RoleCard): string {
  const part =
    throttledPeriods === null || throttledPeriods === 0
      ? ''
      : `, in ${percentText(throttledPeriods)} of the periods of a pod`
  return `${secondsText(throttled)}${part}`
}

function waitedText({ runDelay, cpu }: RoleCard): string {
  if (runDelay === null || cpu === null || runDelay + cpu <= 0) return secondsText(runDelay)
  const part = percentText(runDelay / (runDelay + cpu))
  return `${secondsText(runDelay)}, ${part} of the time in which they could run`
}

function secondsText(seconds: number | null, missing = ''): string {
  if (seconds !== null) return durationText(seconds)
  return missing === '' ? 'not known' : `not known: ${missing}`
}

/** Returns advice about a role in a few lines: refusals, or the requests of each container. */
function adviceLines({ role, refusals, containers }: RoleAdvice): readonly string[] {
  const of = role === '' ? '' : `${role}, `
  const [refusal, ...others] = refusals
  const more = others.length === 0 ? '' : ` (and ${others.length} more reasons)`
  if (refusal !== undefined) return [`${of}none: ${refusal}${more}`]
  return containers.map(({ name, requests: { cpu, memory } }) => {
    const [cores, bytes] = [cpuQuantity(cpu ?? 0), memoryQuantity(memory ?? 0)]
    return `${of}container ${name}: request cpu ${cores}, memory ${bytes}`
  })
}
