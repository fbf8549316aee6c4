import { styleText } from 'node:util'
import { createTwoFilesPatch } from 'diff'
import type { PodAnswer } from '../core/answer.ts'
import { applied, type Operation } from '../core/patch.ts'
import type { Review } from '../core/review.ts'
import { cleanYaml } from '../manifest/print.ts'
import { readRecording } from './recording.ts'
import { answererOf, type SettingOptions } from './settings.ts'

export type Output = 'decision' | 'response' | 'patch' | 'pod' | 'diff'

export interface ReviewOptions extends SettingOptions {
  readonly output: Output
}

/** `ridealong review FILE...`: answers recorded AdmissionReviews on standard output. */
export async function review(
  files: readonly string[],
  options: ReviewOptions,
  print: (text: string) => void,
): Promise<void> {
  const answer = await answererOf(options)
  for (const file of files) {
    const recorded = await readRecording(file)
    print(SHOW[options.output](file, recorded, answer(recorded)))
  }
}

const SHOW: Readonly<Record<Output, (file: string, review: Review, answer: PodAnswer) => string>> =
  {
    decision: (file, review, answer) => `---\n${cleanYaml(summaryOf(file, review, answer))}`,
    response: (_file, _review, { response }) => `${JSON.stringify(response)}\n`,
    patch: (_file, _review, { operations }) => `${JSON.stringify(operations)}\n`,
    pod: (_file, { object }, { operations }) => `---\n${yamlOf(applied(object, operations))}`,
    diff: (file, review, answer) =>
      `${headline(file, answer)}\n${diffOf(review, answer.operations)}`,
  }

/** What was decided, for people and for programs. */
export function summaryOf(file: string, { namespace, name }: Review, { decision }: PodAnswer) {
  const where = { file, namespace, pod: name, outcome: decision.outcome }
  if ('reason' in decision) return { ...where, reason: decision.reason, message: decision.message }
  if (decision.outcome === 'restored') return where
  const metrics = decision.observers.map(({ metric }) => metric.name)
  return { ...where, metrics, mode: decision.mode, target: decision.target }
}

/** One line: the file, and what was decided. */
export function headline(file: string, { decision }: PodAnswer): string {
  if ('reason' in decision) return `${file}: ${decision.outcome}: ${decision.reason}`
  if (decision.outcome === 'restored') return `${file}: restored`
  const metrics = decision.observers.map(({ metric }) => metric.name)
  return `${file}: injected ${metrics.join(', ')}`
}

/** The pod before and after, as a unified difference of YAML; empty where nothing changes. */
export function diffOf({ object }: Review, operations: readonly Operation[]): string {
  if (operations.length === 0) return ''
  const [before, after] = [object, applied(object, operations)].map(yamlOf)
  const patch = createTwoFilesPatch('pod', 'pod with observers', before ?? '', after ?? '')
  const lines = patch.split('\n').slice(1)
  return lines.map(colour).join('\n')
}

/** YAML without anchors, which stand for what observers share; nothing for what is not there. */
function yamlOf(object: unknown): string {
  return object == null ? '' : cleanYaml(object)
}

/** Colours on a terminal alone: styleText looks at standard output and at NO_COLOR. */
function colour(line: string): string {
  if (line.startsWith('+')) return styleText('green', line)
  return line.startsWith('-') ? styleText('red', line) : line
}
