import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { loadCatalog } from '../../src/catalog/load.ts'
import { readWorkload } from '../../src/runs/collect/workload.ts'
import { type Descriptions, descriptionsIn } from '../../src/runs/log/descriptions.ts'
import { startAssessor } from '../../src/runs/top/findings/assessment.ts'
import { HALF_SECONDS } from '../../src/runs/top/findings/log-evidence.ts'
import { findNoProgress } from '../../src/runs/top/no-progress.ts'
import { orderLines } from '../../src/runs/top/order.ts'
import { buildLines } from '../../src/runs/top/ranks.ts'
import { gatherLogs, MOST_ROWS, type RecordedLog } from '../../src/runs/top/recorded-logs.ts'
import { type Replay, startReplay } from '../../src/runs/top/replay.ts'
import { firstView } from '../../src/runs/top/view.ts'
import { cannotRead, EXIT, type ExitCode, UsageError, usageError } from '../shared/errors.ts'
import { entriesOf, inputNamed, STANDARD_INPUT } from '../shared/run-input.ts'
import type { Session } from '../shared/session.ts'
import { mustHaveColumns, mustMeasure } from './check-columns.ts'
import { runInteractive } from './interactive.ts'
import { formatTop } from './output.ts'
import { replayNotices, replayScene } from './replay-scene.ts'
import { hasScreen } from './screen.ts'
import type { TopOptions } from './top-options.ts'

/**
 * Reports whether the arguments are files or folders, and not a workload.
 *
 * @throws UsageError if they are several workloads
 */
export function areFiles(words: readonly string[]): boolean {
  const workloads = words.filter(isWorkload)
  if (workloads.length > 1 && workloads.length === words.length)
    throw new UsageError(`top shows one workload at a time, for example ${words[0]}`)
  return words.length > 0 && workloads.length === 0
}

/**
 * Reports whether a word is a workload. A kind with an API group, such as workflow.argoproj.io, may
 * also be the name of a folder; the file then counts.
 */
function isWorkload(word: string): boolean {
  if ('problem' in readWorkload(word)) return false
  return !word.split('/')[0]?.includes('.') || !existsSync(word)
}

/** The endings of the names of files that are read in a folder. */
const ENDINGS = ['.jsonl', '.log']

/**
 * Shows recorded logs: in the terminal, one timepoint after another; otherwise, the end.
 *
 * @returns the exit code
 * @throws UsageError if a file cannot be read or has another format, or there are too many rows
 */
export async function replayFiles(
  words: readonly string[],
  options: TopOptions,
  session: Session,
): Promise<ExitCode> {
  const { catalog: folder, observerImage, column = [], speed } = options
  const known = descriptionsIn(await loadCatalog({ folder, observerImage }).catch(usageError))
  mustMeasure(column, known)
  const logs = await readLogs(words, known, session)
  const replay = startReplay(logs, known, column)
  mustHaveColumns(replay.columns, replay.undescribed, options.sort)
  const isShown = !options.once && options.output === 'table' && hasScreen(session)
  const names = words
    .map((word) => (word === STANDARD_INPUT ? 'standard input' : basename(word)))
    .join(', ')
  if (isShown) await runInteractive(replayScene(replay, names, speed), options, session)
  else printEnd(replay, options, session)
  return EXIT.ok
}

async function readLogs(
  words: readonly string[],
  descriptions: Descriptions,
  { stdin }: Session,
): Promise<readonly RecordedLog[]> {
  const files = (await Promise.all(words.map(filesIn))).flat()
  const gathering = gatherLogs()
  for (const file of files)
    for await (const entry of entriesOf(inputNamed(file, stdin), descriptions))
      if (!gathering.add(entry)) throw new UsageError(tooManyRows(words))
  return gathering.logs()
}

function tooManyRows(words: readonly string[]): string {
  const most = `${words.join(', ')}: more than ${MOST_ROWS} rows, the most that top shows again`
  return `${most}; name the files of fewer ranks`
}

/** Returns a file, or the files in a folder and its subfolders. */
async function filesIn(word: string): Promise<readonly string[]> {
  if (word === STANDARD_INPUT) return [word]
  if (!existsSync(word))
    throw new UsageError(`${word} is neither KIND/NAME, such as job/lammps, nor a file or a folder`)
  const found = await stat(word).catch(cannotRead(word))
  if (!found.isDirectory()) return [word]
  const names = await readdir(word, { recursive: true }).catch(cannotRead(word))
  const files = names.filter((name) => ENDINGS.some((ending) => name.endsWith(ending))).sort()
  if (files.length > 0) return files.map((name) => join(word, name))
  throw new UsageError(`${word} has no file whose name ends with ${ENDINGS.join(' or ')}`)
}

/** The halves of windows before the end that are looked at, as they decide which findings stay. */
const LAST_HALVES = [4, 3, 2, 1, 0]

function printEnd(replay: Replay, { by, sort, output }: TopOptions, { print, say }: Session): void {
  const { ranks, columns, to } = replay
  const assessor = startAssessor()
  for (const half of LAST_HALVES.slice(0, -1)) {
    replay.advance(to - half * HALF_SECONDS * 1000)
    assessor.assess(ranks, [])
  }
  replay.advance(to)
  const stuck = findNoProgress(ranks, to)
  const assessment = assessor.assess(ranks, stuck)
  const all = buildLines(ranks, columns, by, { now: to, findings: assessment.findings })
  const lines = orderLines(all, columns, firstView(columns, by, sort))
  print(formatTop({ lines, columns, by, stuck, assessment }, output))
  replayNotices(replay).forEach(say)
}
