import { printableJson } from '../../core/text/printable.ts'
import type { Output, OutputFormat, TextCell } from '../../lib/output-format.ts'
import { verdictCell } from '../explain/show.ts'
import { cleanYaml } from '../manifest/print.ts'
import type { InstallationCheck } from './check.ts'
import { type InstallationOutcome, overallOutcome } from './examine.ts'

/**
 * Formats checks as text, with one row per check and its remedy below, or as one JSON or YAML
 * object.
 */
export function shown(checks: readonly InstallationCheck[], form: OutputFormat): Output {
  const outcome = overallOutcome(checks)
  if (form === 'json') return { document: `${printableJson({ outcome, checks }, 2)}\n` }
  if (form === 'yaml') return { document: cleanYaml({ outcome, checks }) }
  const conclusion = { text: conclude(outcome, checks), tone: 'heading' } as const
  return { text: [{ indent: 0, rows: checks.flatMap(rowsOf) }, conclusion] }
}

function rowsOf(one: InstallationCheck): readonly (readonly TextCell[])[] {
  const row = [verdictCell(one.verdict), one.name, one.sentence]
  return one.verdict === 'no' ? [row, ['', '', `What to do: ${one.remedy}.`]] : [row]
}

function conclude(outcome: InstallationOutcome, checks: readonly InstallationCheck[]): string {
  const count = (verdict: InstallationCheck['verdict']) =>
    checks.filter((one) => one.verdict === verdict).length
  const unknown = count('unknown')
  const aside = unknown === 0 ? '' : `; ${unknown} of the checks could not be made`
  if (outcome === 'faulty') return `${count('no')} of ${checks.length} checks failed${aside}.`
  return outcome === 'sound'
    ? `Pods that request observers get them${aside}.`
    : 'No check failed, but no dry run could be made.'
}
