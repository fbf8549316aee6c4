import type { TextBlock, Tone } from '../../../lib/output-format.ts'
import { factorLines } from '../../efficiency/factor-lines.ts'
import type { ReportModel } from '../data.ts'
import type { ShownFinding } from '../findings-data.ts'

/** The most findings that the text has. */
const MAX_FINDINGS = 3
/** The most notes about the data that the text has. */
const MAX_NOTES = 2

/**
 * Formats a report for a terminal: how the run went, its efficiency, and the worst findings. The
 * page of the run has everything else.
 */
export function formatReport(title: string, { page, efficiency }: ReportModel): TextBlock[] {
  const { verdict, advice, notices, findings, profiles } = page
  const hot = profiles?.hot?.sentence
  const factors = factorLines(efficiency.root)
  return [
    { text: title, tone: 'heading' },
    verdict,
    ...(hot === undefined ? [] : [hot]),
    ...(advice === null ? [] : [`What to do: ${advice}`]),
    ...(factors.length === 0 ? [] : ['', ...factors]),
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
  return ['', heading, { rows, indent: 2 }, ...moreBlocks(findings.length - rows.length, 'finding')]
}

function noteBlocks(notices: readonly string[]): readonly TextBlock[] {
  if (notices.length === 0) return []
  const rows = notices.slice(0, MAX_NOTES).map((notice) => [notice])
  const heading: TextBlock = { text: 'Notes about the data:', tone: 'heading' }
  return ['', heading, { rows, indent: 2 }, ...moreBlocks(notices.length - rows.length, 'note')]
}

function moreBlocks(count: number, word: string): readonly TextBlock[] {
  if (count === 0) return []
  return [`  and ${count} more ${word}${count === 1 ? '' : 's'}`]
}
