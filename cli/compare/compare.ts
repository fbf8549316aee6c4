import { resolve } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { loadCatalog } from '../../src/catalog/load.ts'
import { printableJson } from '../../src/core/text/printable.ts'
import type { Output } from '../../src/lib/output-format.ts'
import { writeWholeFile } from '../../src/lib/whole-file.ts'
import { cannotWrite } from '../../src/lib/write-error.ts'
import { cleanYaml } from '../../src/pods/manifest/print.ts'
import type { Side } from '../../src/runs/compare/change.ts'
import {
  compareSides,
  type RunComparison,
  type SideComparison,
} from '../../src/runs/compare/comparison.ts'
import { comparisonDocument } from '../../src/runs/compare/document.ts'
import { measureRun, newComparedRun } from '../../src/runs/compare/measure-run.ts'
import { renderComparison } from '../../src/runs/compare/page/comparison-page.ts'
import type { ComparedRun } from '../../src/runs/compare/run-facts.ts'
import { chooseRule } from '../../src/runs/compare/side-rules.ts'
import { formatComparison } from '../../src/runs/compare/text.ts'
import { type Descriptions, descriptionsIn } from '../../src/runs/log/descriptions.ts'
import { type FindRun, type RunOptions, readRuns } from '../run-sources/named-runs.ts'
import { readInto } from '../run-sources/run-entries.ts'
import { type NamedRun, readRunNames } from '../run-sources/run-names.ts'
import { EXIT, type ExitCode, UsageError, usageError } from '../shared/errors.ts'
import { namedFile } from '../shared/output.ts'
import { readComparisonStyle } from '../shared/page/page-assets.ts'
import type { Session } from '../shared/session.ts'
import { formatText } from '../shared/table.ts'
import type { ComparisonFormat } from './formats.ts'

export interface CompareOptions extends RunOptions {
  readonly output: ComparisonFormat
  /** The file to write; standard output if it is omitted. */
  readonly to?: string
  /** The title of the page. */
  readonly title?: string
  /** The most by which a side may be slower than the first one, as a part of its time. */
  readonly failAbove?: number
}

/** A comparison as text for people, or as a document. */
type Printed = Extract<Output, { text: unknown } | { document: unknown }>

/**
 * Runs `ridealong compare RUN...`: compares each side with the first one.
 *
 * @returns the exit code
 * @throws UsageError if there are fewer than two sides, or with the file that cannot be read or
 * written, or contains no output of an observer
 */
export async function compare(
  words: readonly string[],
  options: CompareOptions,
  session: Session,
): Promise<ExitCode> {
  const { print, say } = session
  const { output: format, to, title = 'Comparison', failAbove } = options
  const { catalog: folder, observerImage } = options
  const catalog = await loadCatalog({ folder, observerImage }).catch(usageError)
  const groups = splitSides(words, say)
  const { sides, isWhole } = await readRuns(options, session, (findRun) =>
    readSides(groups, descriptionsIn(catalog), { findRun, say }),
  )
  const comparison = compareSides(sides)
  const output =
    format === 'html'
      ? { document: await buildPage(comparison, title) }
      : formatOutput(comparison, format)
  const file = namedFile(to)
  if (file === undefined) print(output)
  else await writeOutput(file, output)
  const whole = isWhole ? EXIT.ok : EXIT.no
  if (failAbove === undefined) return whole
  const { code, sentences } = judge(comparison.comparisons, failAbove)
  sentences.forEach(say)
  return code === EXIT.ok ? whole : code
}

async function buildPage(comparison: RunComparison, title: string): Promise<string> {
  const style = await readComparisonStyle()
  const generator = `Made by ridealong ${manifest.version}.`
  return renderComparison({ title, style, comparison, generator })
}

async function writeOutput(file: string, output: Printed): Promise<void> {
  const text = 'document' in output ? output.document : `${formatText(output.text).join('\n')}\n`
  await writeWholeFile(file, [text]).catch(cannotWrite(file)).catch(usageError)
}

function formatOutput(
  comparison: RunComparison,
  format: Exclude<ComparisonFormat, 'html'>,
): Printed {
  if (format === 'text') return { text: formatComparison(comparison) }
  const document = comparisonDocument(comparison)
  return { document: format === 'json' ? `${printableJson(document, 2)}\n` : cleanYaml(document) }
}

/** Returns the exit code of `--fail-above`, and why. A side that fails is more important. */
function judge(comparisons: readonly SideComparison[], limit: number) {
  const judged = comparisons.map((one) => ({ one, rule: chooseRule(one, limit) }))
  const codes = judged.map(({ rule }) => rule.exitCode)
  const code = [EXIT.no, EXIT.trouble].find((worst) => codes.includes(worst)) ?? EXIT.ok
  const decisive = code === EXIT.ok ? [] : judged.filter(({ rule }) => rule.exitCode === code)
  return { code, sentences: decisive.map(({ one, rule }) => rule.explain(one, limit)) }
}

/** The word between two sides. A file of this name is written ./vs. */
const SEPARATOR = 'vs'

/** The most sides: each has a letter as its name. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** The sides of a comparison, and whether no log of a run is missing. */
interface ReadSides {
  readonly sides: readonly Side[]
  readonly isWhole: boolean
}

/**
 * Reads the runs of all sides. The rows of one run at a time are in memory.
 *
 * @throws UsageError with the file that cannot be read or contains no output of an observer
 */
async function readSides(
  groups: readonly (readonly NamedRun[])[],
  descriptions: Descriptions,
  { findRun, say }: { readonly findRun: FindRun; readonly say: Session['say'] },
): Promise<ReadSides> {
  const sides: Side[] = []
  let isWhole = true
  for (const [index, group] of groups.entries()) {
    const runs: ComparedRun[] = []
    for (const named of group) {
      const input = await findRun(named)
      const run = newComparedRun(descriptions)
      await readInto(run, input, say)
      runs.push(measureRun(run, named.name))
      isWhole &&= input.isWhole
    }
    sides.push({ name: LETTERS[index] ?? '', runs })
  }
  return { sides, isWhole }
}

/**
 * Returns the runs of each side. Without the separator, each run is a side. A run that is named
 * twice on a side is one run: only several runs show how much the time varies.
 *
 * @param say says which run is named twice
 * @throws UsageError if there are fewer than two sides, or a side has no run
 */
function splitSides(
  words: readonly string[],
  say: Session['say'],
): readonly (readonly NamedRun[])[] {
  const groups = words.includes(SEPARATOR)
    ? splitAt(words).map(readRunNames)
    : readRunNames(words).map((run) => [run])
  if (groups.some((group) => group.length === 0))
    throw new UsageError(`a side has no run: name runs before and after each "${SEPARATOR}"`)
  if (groups.length < 2)
    throw new UsageError(
      'there is only one run: name at least two, such as before.jsonl after.jsonl',
    )
  if (groups.length > LETTERS.length)
    throw new UsageError(
      `there are ${groups.length} sides, and at most ${LETTERS.length} are compared; ` +
        `to compare repeated runs, separate the sides: run... ${SEPARATOR} run...`,
    )
  return groups.map((group, index) => leaveOutRepeated(group, LETTERS[index] ?? '', say))
}

function leaveOutRepeated(
  group: readonly NamedRun[],
  side: string,
  say: Session['say'],
): readonly NamedRun[] {
  const runs = Map.groupBy(group, ({ from, name }) => (from === 'files' ? resolve(name) : name))
  return [...runs.values()].flatMap(([run, ...others]) => {
    if (run === undefined) return []
    if (others.length > 0)
      say(`${run.name} is named ${others.length + 1} times on side ${side}: it counts as one run`)
    return run
  })
}

function splitAt(words: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = [[]]
  for (const word of words)
    if (word === SEPARATOR) groups.push([])
    else groups.at(-1)?.push(word)
  return groups
}
