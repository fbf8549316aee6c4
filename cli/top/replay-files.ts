import { loadCatalog } from '../../src/catalog/load.ts'
import { durationText } from '../../src/lib/duration.ts'
import { pause } from '../../src/lib/pause.ts'
import { type Descriptions, descriptionsIn } from '../../src/runs/log/descriptions.ts'
import type { AssessedRun } from '../../src/runs/report/assess.ts'
import { assessmentOf, startAssessor } from '../../src/runs/top/findings/assessment.ts'
import { orderLines } from '../../src/runs/top/order.ts'
import { buildLines } from '../../src/runs/top/pods.ts'
import { gatherLogs, MAX_ROWS, type ReplayedRun } from '../../src/runs/top/recorded-logs.ts'
import { type Replay, startReplay } from '../../src/runs/top/replay.ts'
import { firstView } from '../../src/runs/top/view.ts'
import { describeRuns, findOneRun, readRuns } from '../run-sources/named-runs.ts'
import { entriesOfRun } from '../run-sources/run-entries.ts'
import type { NamedRun } from '../run-sources/run-names.ts'
import { EXIT, type ExitCode, UsageError, usageError } from '../shared/errors.ts'
import type { Session } from '../shared/session.ts'
import { mustHaveColumns, mustMeasure } from './check-columns.ts'
import { FRAME_MS, runInteractive, type Scene } from './interactive.ts'
import { formatTop } from './output.ts'
import { hasScreen } from './screen.ts'
import type { TopOptions } from './top-options.ts'

/**
 * Shows recorded logs: in the terminal, one timepoint after another; otherwise, the end.
 *
 * @returns the exit code
 * @throws UsageError if a file cannot be read or has another format, or there are too many rows
 */
export async function replayFiles(
  runs: readonly NamedRun[],
  options: TopOptions,
  session: Session,
): Promise<ExitCode> {
  const { catalog: folder, observerImage, column = [], speed } = options
  const known = descriptionsIn(await loadCatalog({ folder, observerImage }).catch(usageError))
  mustMeasure(column, known)
  const { logs, assessed } = await readRecording(runs, known, options, session)
  const replay = startReplay(logs, known, column)
  mustHaveColumns(replay.columns, replay.undescribed, options.sort)
  const isShown = !options.once && options.output === 'table' && hasScreen(session)
  const names = describeRuns(runs)
  if (isShown) await runInteractive(replayScene(replay, assessed, names, speed), options, session)
  else printEnd(replay, assessed, options, session)
  return EXIT.ok
}

async function readRecording(
  runs: readonly NamedRun[],
  descriptions: Descriptions,
  options: TopOptions,
  session: Session,
): Promise<ReplayedRun> {
  return readRuns(options, session, async (findRun) => {
    const gathering = gatherLogs(descriptions)
    const input = await findOneRun(runs, findRun)
    for await (const entry of entriesOfRun(input, descriptions, session.say))
      if (!gathering.add(entry)) throw new UsageError(tooManyRows(runs))
    return gathering.recording()
  })
}

function tooManyRows(runs: readonly NamedRun[]): string {
  const names = runs.map(({ name }) => name).join(', ')
  const most = `${names}: more than ${MAX_ROWS} rows, the most that top shows again`
  return `${most}; name the files of fewer pods`
}

function printEnd(
  replay: Replay,
  assessed: AssessedRun,
  { by, sort, output }: TopOptions,
  { print, say }: Session,
): void {
  const { pods, columns, to } = replay
  replay.advance(to)
  const assessment = assessmentOf(assessed)
  const all = buildLines(pods, columns, by, { now: to, findings: assessment.findings })
  const lines = orderLines(all, columns, firstView(columns, by, sort))
  print(formatTop({ lines, columns, by, time: undefined, assessment }, output))
  replayNotices(replay).forEach(say)
}

/** The longest replay at the speed that is chosen without `--speed`, in milliseconds. */
const MAX_MS = 120_000

/**
 * Returns the pods of recorded logs, whose rows are shown one after another.
 *
 * @param assessed how the run went, which is shown at the end
 * @param words the names of the files
 * @param speed how many times as fast as the run; by default, two timepoints are shown in a second,
 * and a replay takes two minutes at most
 */
function replayScene(
  replay: Replay,
  assessed: AssessedRun,
  words: string,
  speed = usualSpeed(replay),
): Scene {
  const { assess } = startAssessor(() => performance.now())
  const began = performance.now()
  const length = durationText((replay.to - replay.from) / 1000)
  let now = replay.from
  return {
    heading: () => {
      const passed = durationText(Math.round((now - replay.from) / 1000))
      return `${words}, ${passed} of the ${length} of its rows (${speedText(speed)} times as fast)`
    },
    pods: () => replay.pods,
    columns: () => replay.columns,
    time: () => undefined,
    assessor: {
      assess: (pods, at) => (at < replay.to ? assess(pods, at) : assessmentOf(assessed)),
    },
    notices: () => replayNotices(replay),
    update: () => {
      now = Math.min(replay.from + (performance.now() - began) * speed, replay.to)
      replay.advance(now)
      return now
    },
    follow: async (signal) => {
      while (!signal.aborted) await pause(MAX_MS, signal)
    },
  }
}

function replayNotices({ undescribed }: Replay): readonly string[] {
  return undescribed.map((metric) => `the rows of ${metric} are not described`)
}

function usualSpeed({ from, to, interval = FRAME_MS }: Replay): number {
  return Math.max(interval / FRAME_MS, (to - from) / MAX_MS, 1)
}

function speedText(speed: number): string {
  return String(Number(speed.toPrecision(2)))
}
