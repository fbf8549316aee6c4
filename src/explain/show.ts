import type { Form } from '../form.ts'
import { cleanYaml } from '../manifest/print.ts'
import { costSentence } from './cost.ts'
import type { Explanation } from './explain.ts'

/** Explanations as they are printed: as text, as a list in JSON, or as documents of YAML. */
export function shown(explanations: readonly Explanation[], form: Form): string {
  if (form === 'json') return `${JSON.stringify(explanations, null, 2)}\n`
  if (form === 'yaml') return explanations.map((one) => `---\n${cleanYaml(one)}`).join('')
  return explanations.map(textOf).join('\n')
}

function textOf({ subject, namespace, findings, cost, conclusion, remedy }: Explanation): string {
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
    '',
  ].join('\n')
}
