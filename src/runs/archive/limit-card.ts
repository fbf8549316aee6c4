import { printable } from '../../core/text/printable.ts'
import type { RoleAdvice } from '../card/advice.ts'
import type { RunCard } from '../card/run-card.ts'
import type { Factor } from '../efficiency/factor.ts'

/** How much of a card is kept. */
export interface CardLimits {
  readonly roles: number
  readonly containers: number
  /** The most sentences in each list. */
  readonly sentences: number
  /** The most UTF-16 code units of a text. */
  readonly text: number
}

/** The numbers of roles and sentences that a card lacks because of its limits. */
export interface Omitted {
  readonly roles: number
  readonly missing: number
}

/** The limits of a card in an object Run; the next ones are for a card that is still too large. */
export const CARD_LIMITS: readonly CardLimits[] = [
  { roles: 16, containers: 8, sentences: 8, text: 256 },
  { roles: 8, containers: 4, sentences: 4, text: 192 },
  { roles: 4, containers: 2, sentences: 2, text: 128 },
  { roles: 1, containers: 1, sentences: 1, text: 96 },
]

/** The limits of a card that always fits. */
export const MIN_CARD: CardLimits = { roles: 0, containers: 0, sentences: 0, text: 64 }

/** Shortens the lists and texts of a card, and escapes texts: users of pods can write them. */
export function limitCard(
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
      efficiency: showFactor(card.efficiency, show),
      roles: roles.map((role) => ({
        ...role,
        role: show(role.role),
        memory: showRank(role.memory, show),
      })),
      memory: showRank(card.memory, show),
      findings: findings.map((finding) => ({
        ...showRank(finding, show),
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

function showRank<Named extends { readonly rank: string | null }>(named: Named, show: Show): Named {
  return { ...named, rank: named.rank === null ? null : show(named.rank) }
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
