import { printableJson } from '../core/printable.ts'
import type { Form, Output } from '../form.ts'
import { cleanYaml } from '../manifest/print.ts'
import type { Check } from './check.ts'
import { type Outcome, outcomeOf } from './examine.ts'

/** Checks as they are printed: a line each, with its remedy below; or as one object. */
export function shown(checks: readonly Check[], form: Form): Output {
  const outcome = outcomeOf(checks)
  if (form === 'json') return { document: `${printableJson({ outcome, checks }, 2)}\n` }
  if (form === 'yaml') return { document: cleanYaml({ outcome, checks }) }
  const width = Math.max(...checks.map(({ name }) => name.length))
  const lines = checks.flatMap((one) => linesOf(one, width))
  return { lines: [...lines, conclusionOf(outcome, checks)] }
}

function linesOf(one: Check, width: number): readonly string[] {
  const line = `${one.verdict.padEnd(7)}  ${one.name.padEnd(width)}  ${one.sentence}`
  return one.verdict === 'no'
    ? [line, `${' '.repeat(width + 11)}What to do: ${one.remedy}.`]
    : [line]
}

function conclusionOf(outcome: Outcome, checks: readonly Check[]): string {
  const count = (verdict: Check['verdict']) =>
    checks.filter((one) => one.verdict === verdict).length
  const unknown = count('unknown')
  const aside = unknown === 0 ? '' : `; ${unknown} could not be made`
  if (outcome === 'faulty') return `${count('no')} of ${checks.length} checks do not hold${aside}.`
  return outcome === 'sound'
    ? `Pods that ask get observers${aside}.`
    : 'Nothing is known to be wrong, and the apiserver could not be asked for a dry run.'
}
