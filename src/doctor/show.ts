import { printableJson } from '../core/text/printable.ts'
import type { Output, OutputFormat } from '../lib/output-format.ts'
import { cleanYaml } from '../manifest/print.ts'
import type { InstallationCheck } from './check.ts'
import { type InstallationOutcome, overallOutcome } from './examine.ts'

/**
 * Formats checks as text, with one line per check and its remedy below, or as one JSON or YAML
 * object.
 */
export function shown(checks: readonly InstallationCheck[], form: OutputFormat): Output {
  const outcome = overallOutcome(checks)
  if (form === 'json') return { document: `${printableJson({ outcome, checks }, 2)}\n` }
  if (form === 'yaml') return { document: cleanYaml({ outcome, checks }) }
  const width = Math.max(...checks.map(({ name }) => name.length))
  const lines = checks.flatMap((one) => formatCheck(one, width))
  return { lines: [...lines, conclude(outcome, checks)] }
}

function formatCheck(one: InstallationCheck, width: number): readonly string[] {
  const line = `${one.verdict.padEnd(7)}  ${one.name.padEnd(width)}  ${one.sentence}`
  return one.verdict === 'no'
    ? [line, `${' '.repeat(width + 11)}What to do: ${one.remedy}.`]
    : [line]
}

function conclude(outcome: InstallationOutcome, checks: readonly InstallationCheck[]): string {
  const count = (verdict: InstallationCheck['verdict']) =>
    checks.filter((one) => one.verdict === verdict).length
  const unknown = count('unknown')
  const aside = unknown === 0 ? '' : `; ${unknown} could not be made`
  if (outcome === 'faulty') return `${count('no')} of ${checks.length} checks do not hold${aside}.`
  return outcome === 'sound'
    ? `Pods that ask get observers${aside}.`
    : 'Nothing is known to be wrong, and the apiserver could not be asked for a dry run.'
}
