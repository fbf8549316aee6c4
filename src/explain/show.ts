import { printableJson } from '../core/text/printable.ts'
import type { Output, OutputFormat } from '../lib/output-format.ts'
import { cleanYaml } from '../manifest/print.ts'
import { costSentence } from './cost.ts'
import type { Explanation } from './explain.ts'

/** Formats explanations as text, as a JSON list, or as YAML documents. */
export function shown(explanations: readonly Explanation[], form: OutputFormat): Output {
  if (form === 'json') return { document: `${printableJson(explanations, 2)}\n` }
  if (form === 'yaml')
    return { document: explanations.map((one) => `---\n${cleanYaml(one)}`).join('') }
  return {
    lines: explanations.flatMap((one, index) => [...(index > 0 ? [''] : []), ...linesOf(one)]),
  }
}

function linesOf(explanation: Explanation): readonly string[] {
  const { subject, namespace, findings, cost, conclusion, remedy } = explanation
  const width = Math.max(...findings.map(({ name }) => name.length))
  const rows = findings.map(({ verdict, name, sentence }) => {
    return `  ${verdict.padEnd(7)}  ${name.padEnd(width)}  ${sentence}`
  })
  return [
    `${subject} in namespace ${namespace}`,
    ...rows,
    ...(cost === undefined ? [] : [`  observers ${costSentence(cost)}`]),
    conclusion,
    ...(remedy === undefined ? [] : [`What to do: ${remedy}.`]),
  ]
}
