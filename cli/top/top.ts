import { mustBeOneRun, type NamedRun, readRunNames } from '../run-sources/run-names.ts'
import { EXIT, type ExitCode, UsageError } from '../shared/errors.ts'
import type { Session } from '../shared/session.ts'
import { findWorkloadPods } from '../shared/workload-pods.ts'
import { mustHaveColumns, mustMeasure } from './check-columns.ts'
import { runInteractive } from './interactive.ts'
import { startLiveRun } from './live-run.ts'
import { liveScene } from './live-scene.ts'
import { runOnce } from './once.ts'
import { replayFiles } from './replay-files.ts'
import { hasScreen } from './screen.ts'
import { startTimeSoFar } from './time-so-far.ts'
import type { TopOptions } from './top-options.ts'

/**
 * Runs `ridealong top RUN...`: shows the pods of a run and what delays them, in the cluster or
 * from recorded logs.
 *
 * @returns the exit code: with `once`, EXIT.no if a log cannot be read, and EXIT.trouble if no log
 * can be read; otherwise EXIT.ok
 * @throws UsageError if the command line, a file or the cluster has a problem, or there is no
 * terminal
 */
export async function top(
  words: readonly string[],
  options: TopOptions,
  session: Session,
): Promise<ExitCode> {
  const runs = readRunNames(words)
  mustBeOneRun(runs, 'top')
  if (runs.some(({ from }) => from !== 'cluster')) {
    mustBeForFiles(runs, options)
    return replayFiles(runs, options, session)
  }
  mustBeForPods(options, session)
  const workload = runs.map(({ name }) => name)
  const found = await findWorkloadPods(workload, options, session.environment)
  const names = options.column ?? []
  mustMeasure(names, found.descriptions)
  const run = startLiveRun(found.descriptions, names)
  run.take(found.pods)
  const time = startTimeSoFar(found.words)
  time.take(found.pods)
  mustHaveColumns(run.columns(), run.undescribed(), options.sort)
  if (!options.once) {
    await runInteractive(liveScene(found, run, time, options.parallel), options, session)
    return EXIT.ok
  }
  const { output, notices, code } = await runOnce(found, run, { ...options, time: time.read() })
  session.print(output)
  notices.forEach(session.say)
  return code
}

/** The options that choose pods of a cluster. */
const OF_PODS = ['selector', 'namespace', 'context', 'kubeconfig'] as const

function mustBeForFiles(runs: readonly NamedRun[], options: TopOptions): void {
  const isStored = runs.some(({ from }) => from === 'storage')
  const refused = OF_PODS.filter((name) => !(isStored && name === 'namespace'))
  const wrong = refused.find((name) => options[name] !== undefined)
  if (wrong === undefined) return
  const source = isStored ? 'the argument is a stored run' : 'the arguments are files'
  throw new UsageError(`--${wrong} chooses pods of a cluster, but ${source}`)
}

function mustBeForPods({ once, output, speed }: TopOptions, session: Session): void {
  if (speed !== undefined)
    throw new UsageError('--speed is for recorded logs; name files or a folder')
  if (!once && output !== 'table') throw new UsageError(`--output ${output} needs --once`)
  if (once || hasScreen(session)) return
  throw new UsageError(
    'standard output is not a terminal that top can draw on; --once prints one table',
  )
}
