import fc from 'fast-check'
import { MAX_ATTEMPT_GROUPS } from '../../../../src/runs/attempts/attempt-groups.ts'
import { CARD_FINDINGS } from '../../../../src/runs/card/card-findings.ts'
import { makeRunCard, type RunCard } from '../../../../src/runs/card/run-card.ts'
import { RUN_PHASES } from '../../../../src/runs/facts/run.ts'
import { TIME_FINDINGS } from '../../../../src/runs/time/time-findings.ts'
import { RUN } from '../facts/generated-runs.ts'

/** Texts as a hostile user writes them: controls, quotes, characters of several bytes. */
const TEXT = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 2000 }),
  fc.constantFrom('\u001b[31m', '\u202e', '"\\', '\u0000', '漢').map((part) => part.repeat(500)),
)

/** A card with hostile texts, and with many roles. */
export const HOSTILE: fc.Arbitrary<RunCard> = fc
  .record({
    run: RUN,
    phase: fc.constantFrom(...RUN_PHASES),
    texts: fc.array(TEXT, { minLength: 1, maxLength: 60 }),
    roles: fc.integer({ min: 1, max: 40 }),
  })
  .map(({ run, phase, texts, roles }) => {
    const card = makeRunCard({ ...run, phase }, 2_000_000)
    const [text = ''] = texts
    const many = <Row extends { role: string }>(rows: readonly Row[]) =>
      Array.from({ length: roles }, (_, index) =>
        rows.map((row) => ({ ...row, role: `${text}${index}` })),
      ).flat()
    return {
      ...card,
      roles: many(card.roles),
      advice: many(card.advice).map((advice) => ({ ...advice, refusals: texts })),
      findings: CARD_FINDINGS.map((name) => {
        const isAboutTime = TIME_FINDINGS.some((known) => known === name)
        const severity = isAboutTime ? 'slowdown' : 'failure'
        return { name, severity, podIndex: text, sentence: text, others: 3 } as const
      }),
      attempts: texts.slice(0, MAX_ATTEMPT_GROUPS).map((reason, index) => ({
        ...{ attempt: index + 1, podIndex: text, container: text, phase: 'Failed', reason },
        ...{ exitCode: 137, signal: 9, count: 4096, started: 1, ended: 2, seconds: 0.001 },
      })),
      time: card.time === null ? null : { ...card.time, reasons: texts },
      missing: texts,
    }
  })
