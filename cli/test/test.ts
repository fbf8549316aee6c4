import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTwoFilesPatch } from 'diff'
import type { Review } from '../../src/core/review.ts'
import type { PodReview } from '../../src/core/review-pod.ts'
import { printableJson } from '../../src/core/text/printable.ts'
import { errorMessage } from '../../src/lib/error-message.ts'
import { writeWholeFile } from '../../src/lib/whole-file.ts'
import { cannotRead, UsageError } from '../shared/errors.ts'
import { readRecording } from '../shared/recording.ts'
import { buildReviewer, type SettingOptions } from '../shared/settings.ts'

export const REVIEW = 'review.json'
const GOLDEN = 'answer.json'
export const NAMESPACES = 'namespaces.yaml'

export interface TestOptions extends SettingOptions {
  /** Whether the answers are written to the golden files instead of being compared with them. */
  readonly update?: boolean
}

/** The outcome of one case. */
export interface CaseResult {
  readonly name: string
  readonly outcome: 'same' | 'written' | 'failed'
  /** The lines that describe the failure. */
  readonly trouble?: readonly string[]
}

/**
 * Runs `ridealong test DIR...`. If there are several folders, the names of the cases begin with
 * their folder.
 *
 * @throws UsageError if a folder cannot be read or contains no case
 */
export async function runFolders(
  folders: readonly string[],
  options: TestOptions,
): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = []
  for (const folder of folders) {
    const nameOf = (name: string) => (folders.length > 1 ? join(folder, name) : name)
    const own = await runCases(folder, options)
    results.push(...own.map((result) => ({ ...result, name: nameOf(result.name) })))
  }
  return results
}

/**
 * Answers each recorded review of a folder and compares the answer with the golden file.
 *
 * A case is a folder with two files. `review.json` is the recording. `answer.json` is the golden
 * file, with the decision and the patch. `namespaces.yaml`, in the same folder as the cases,
 * contains the Namespaces of the recorded pods.
 *
 * @throws UsageError if the folder cannot be read or contains no case
 */
export async function runCases(folder: string, options: TestOptions): Promise<CaseResult[]> {
  const names = await caseNames(folder)
  const besides = join(folder, NAMESPACES)
  const namespaces = options.namespaces ?? (existsSync(besides) ? besides : undefined)
  const answer = await buildReviewer({ ...options, namespaces })
  const results: CaseResult[] = []
  for (const name of names) {
    results.push(await runCase(name, join(folder, name), answer, options.update === true))
  }
  return results
}

async function caseNames(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(cannotRead(folder))
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  const cases = names.filter((name) => {
    return [REVIEW, GOLDEN].some((file) => existsSync(join(folder, name, file)))
  })
  if (cases.length === 0)
    throw new UsageError(`${folder} has no case; a case is a folder with ${REVIEW}`)
  return cases.sort()
}

async function runCase(
  name: string,
  folder: string,
  answer: (review: Review) => PodReview,
  update: boolean,
): Promise<CaseResult> {
  const [review, golden] = [join(folder, REVIEW), join(folder, GOLDEN)]
  if (!existsSync(review))
    return { name, outcome: 'failed', trouble: [`there is ${GOLDEN} but no ${REVIEW}`] }
  try {
    const actual = formatGolden(answer(await readRecording(review)))
    if (update) {
      await writeWholeFile(golden, actual)
      return { name, outcome: 'written' }
    }
    return compare(name, actual, await readGolden(golden))
  } catch (error) {
    return { name, outcome: 'failed', trouble: [errorMessage(error)] }
  }
}

async function readGolden(path: string): Promise<string> {
  if (existsSync(path)) return readFile(path, 'utf8')
  throw new UsageError(
    `${GOLDEN} does not exist yet: check the answer, then write it with --update`,
  )
}

/** Formats a golden file: the patch, and the parts of the decision that are not in the patch. */
function formatGolden({ decision, operations }: PodReview): string {
  const { outcome } = decision
  const why = 'reason' in decision ? { reason: decision.reason, message: decision.message } : {}
  return `${printableJson({ outcome, ...why, patch: operations }, 2)}\n`
}

function compare(name: string, actual: string, golden: string): CaseResult {
  if (actual === golden) return { name, outcome: 'same' }
  const patch = createTwoFilesPatch(GOLDEN, 'actual answer', golden, actual)
  return { name, outcome: 'failed', trouble: patch.trimEnd().split('\n').slice(1) }
}

/**
 * Formats the results in the Test Anything Protocol, version 14. A # in a name is escaped because
 * it would begin a directive.
 */
export function formatTap(results: readonly CaseResult[]): readonly string[] {
  const lines = results.flatMap(({ name, outcome, trouble }, index) => {
    const word = outcome === 'failed' ? 'not ok' : 'ok'
    const line = `${word} ${index + 1} - ${name.replaceAll('#', '\\#')}`
    const indented = trouble?.map((text) => `    ${text}`) ?? []
    return trouble === undefined ? [line] : [line, '  ---', '  trouble: |', ...indented, '  ...']
  })
  return ['TAP version 14', `1..${results.length}`, ...lines]
}
