import type { TextBlock, Tone } from '../../../lib/output-format.ts'
import { formatAttempts } from '../../attempts/attempts-text.ts'
import { factorLines } from '../../efficiency/factor-lines.ts'
import type { ReportModel } from '../data.ts'
import type { ShownFinding } from '../findings-data.ts'
import { attemptBlocks } from '../programs/attempts-view.ts'

/** The most findings that the text has. */
const MAX_FINDINGS = 3
/** The most notes about the data that the text has. */
const MAX_NOTES = 6

/**
 * Formats a report for a terminal: how the run went, its efficiency, and the worst findings. The
 * page of the run has everything else.
 */
export function formatReport(
  title: string,
  { page, efficiency, looked, attempts, time: spent }: ReportModel,
): TextBlock[] {
  const { verdict, time, advice, notices, findings, profiles } = page
  const hot = profiles?.hot?.sentence
  const factors = factorLines(efficiency.root, looked.gaps)
  return [
    { text: title, tone: 'heading' },
    verdict,
    ...(time === null ? [] : [time]),
    ...(hot === undefined ? [] : [hot]),
    ...(advice === null ? [] : [`What to do: ${advice}`]),
    ...(factors.length === 0 ? [] : ['', ...factors]),
    ...formatAttempts(spent?.attempts ?? []),
    ...attemptBlocks(attempts),
    ...findingBlocks(findings.findings),
    ...noteBlocks(notices),
  ]
}

const TONES: Readonly<Record<string, Tone>> = { failure: 'bad', risk: 'minor' }

function findingBlocks(findings: readonly ShownFinding[]): readonly TextBlock[] {
  if (findings.length === 0) return []
  const rows = findings.slice(0, MAX_FINDINGS).map(({ title, severity, sentence }) => {
    return [{ text: title, tone: TONES[severity] ?? 'doubtful' }, sentence] as const
  })
  const heading: TextBlock = { text: 'Findings, the worst first:', tone: 'heading' }
  const others = findings.slice(MAX_FINDINGS).map(({ title }) => title)
  const more =
    others.length === 0 ? [] : [`  and ${counted(others, 'finding')}: ${others.join(', ')}`]
  return ['', heading, { rows, indent: 2 }, ...more]
}

function noteBlocks(notices: readonly string[]): readonly TextBlock[] {
  if (notices.length === 0) return []
  const rows = notices.slice(0, MAX_NOTES).map((notice) => [notice])
  const heading: TextBlock = { text: 'Notes about the data:', tone: 'heading' }
  const others = notices.slice(MAX_NOTES)
  const more = others.length === 0 ? [] : [`  and ${counted(others, 'note')}, in --output json`]
  return ['', heading, { rows, indent: 2 }, ...more]
}

function counted({ length }: readonly string[], word: string): string {
  return `${length} more ${word}${length === 1 ? '' : 's'}`
}
