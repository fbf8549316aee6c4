import { printableJson } from '../../core/text/printable.ts'
import type { Output, OutputFormat, TextBlock, TextCell, Tone } from '../../lib/output-format.ts'
import { cleanYaml } from '../manifest/print.ts'
import { costSentence } from './cost.ts'
import type { Explanation } from './explain.ts'
import type { FindingVerdict } from './finding.ts'

/** Formats explanations as text, as a JSON list, or as YAML documents. */
export function shown(explanations: readonly Explanation[], form: OutputFormat): Output {
  if (form === 'json') return { document: `${printableJson(explanations, 2)}\n` }
  if (form === 'yaml')
    return { document: explanations.map((one) => `---\n${cleanYaml(one)}`).join('') }
  return {
    text: explanations.flatMap((one, index) => [...(index > 0 ? [''] : []), ...blocksOf(one)]),
  }
}

const TONES: Readonly<Record<FindingVerdict, Tone>> = {
  ok: 'good',
  no: 'bad',
  look: 'doubtful',
  unknown: 'doubtful',
  open: 'minor',
}

/** Returns the first cell of a row. The cell has the same width for all verdicts. */
export function verdictCell(verdict: FindingVerdict): TextCell {
  return { text: verdict.padEnd('unknown'.length), tone: TONES[verdict] }
}

function blocksOf(explanation: Explanation): readonly TextBlock[] {
  const { subject, namespace, findings, cost, conclusion, remedy } = explanation
  const rows = findings.map(({ verdict, name, sentence }) => {
    return [verdictCell(verdict), name, sentence]
  })
  const sum = cost === undefined ? [] : [['', 'cost', `observers ${costSentence(cost)}`]]
  return [
    { text: `${subject} in namespace ${namespace}`, tone: 'heading' },
    { indent: 2, rows: [...rows, ...sum] },
    { text: conclusion, tone: 'heading' },
    ...(remedy === undefined ? [] : [`What to do: ${remedy}.`]),
  ]
}
