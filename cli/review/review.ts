import { text } from 'node:stream/consumers'
import { createTwoFilesPatch } from 'diff'
import { applied, type Operation } from '../../src/core/patch.ts'
import type { Review } from '../../src/core/review.ts'
import type { PodReview } from '../../src/core/review-pod.ts'
import { printableJson } from '../../src/core/text/printable.ts'
import type { Output } from '../../src/lib/output-format.ts'
import { cleanYaml } from '../../src/pods/manifest/print.ts'
import { parseRecording, readRecording } from '../shared/recording.ts'
import { STANDARD_INPUT } from '../shared/run-input.ts'
import type { Session } from '../shared/session.ts'
import { buildReviewer, type SettingOptions } from '../shared/settings.ts'

export type Answered = 'decision' | 'response' | 'patch' | 'pod' | 'diff'

export interface ReviewOptions extends SettingOptions {
  readonly output: Answered
}

/** Runs `ridealong review FILE...`: prints the answers to recorded AdmissionReviews. */
export async function review(
  files: readonly string[],
  options: ReviewOptions,
  { stdin, print }: Session,
): Promise<void> {
  const answer = await buildReviewer(options)
  for (const file of files) {
    const recorded = await (file === STANDARD_INPUT
      ? text(stdin).then((written) => parseRecording(file, written))
      : readRecording(file))
    print(SHOW[options.output](file, recorded, answer(recorded)))
  }
}

type Show = (file: string, review: Review, answer: PodReview) => Output

const SHOW: Readonly<Record<Answered, Show>> = {
  decision: (file, review, answer) => ({
    document: `---\n${cleanYaml(formatSummary(file, review, answer))}`,
  }),
  response: (_file, _review, { response }) => ({ document: `${printableJson(response)}\n` }),
  patch: (_file, _review, { operations }) => ({ document: `${printableJson(operations)}\n` }),
  pod: (_file, { object }, { operations }) => ({
    document: `---\n${toYaml(applied(object, operations))}`,
  }),
  diff: (file, review, answer) => ({
    diff: [headline(file, answer), ...formatDiff(review, answer.operations)],
  }),
}

/** Summarizes a decision, for people and for programs. */
export function formatSummary(file: string, { namespace, name }: Review, { decision }: PodReview) {
  const where = { file, namespace, pod: name, outcome: decision.outcome }
  if ('reason' in decision) return { ...where, reason: decision.reason, message: decision.message }
  if (decision.outcome === 'restored') return where
  const { observers, left, mode, target } = decision
  const metrics = observers.map(({ metric }) => metric.name)
  return { ...where, metrics, ...(left.length > 0 && { left }), mode, target }
}

/** Returns one line with the file and the decision. */
export function headline(file: string, { decision }: PodReview): string {
  if ('reason' in decision) return `${file}: ${decision.outcome}: ${decision.reason}`
  if (decision.outcome === 'restored') return `${file}: restored`
  const metrics = decision.observers.map(({ metric }) => metric.name)
  const without = decision.left.map(({ metric }) => metric)
  const lacking = without.length === 0 ? '' : `, without ${without.join(', ')}`
  return `${file}: injected ${metrics.join(', ')}${lacking}`
}

/**
 * Returns the unified diff of the pod's YAML before and after the patch; empty if nothing changes.
 */
export function formatDiff(
  { object }: Review,
  operations: readonly Operation[],
): readonly string[] {
  if (operations.length === 0) return []
  const [before, after] = [object, applied(object, operations)].map(toYaml)
  const patch = createTwoFilesPatch('pod', 'pod with observers', before ?? '', after ?? '')
  return patch.trimEnd().split('\n').slice(1)
}

/**
 * Formats an object as YAML, without anchors for the parts that observers share. Returns an empty
 * string if the object is null or undefined.
 */
function toYaml(object: unknown): string {
  return object == null ? '' : cleanYaml(object)
}
