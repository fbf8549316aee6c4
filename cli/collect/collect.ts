import { WriteError } from '../../src/lib/write-error.ts'
import { type ArtifactFolder, openArtifactFolder } from '../../src/runs/collect/artifacts.ts'
import type { Target } from '../../src/runs/collect/destination.ts'
import { noticeSentences } from '../../src/runs/collect/notices.ts'
import { sourceName } from '../../src/runs/collect/observers.ts'
import { describeObservedPods } from '../../src/runs/log/observed-pods.ts'
import type { LogFormat } from '../../src/runs/log/transcribe.ts'
import { type GatheredRun, gatherRun, sayMissing } from '../run-sources/gather-run.ts'
import { EXIT, type ExitCode, UsageError } from '../shared/errors.ts'
import { documentFor, namedFile } from '../shared/output.ts'
import type { Session } from '../shared/session.ts'
import { findWorkloadPods, type WorkloadOptions } from '../shared/workload-pods.ts'

export interface CollectOptions extends WorkloadOptions {
  readonly output: LogFormat
  readonly to?: string
  readonly follow?: boolean
  readonly parallel: number
}

/**
 * Runs `ridealong collect KIND/NAME`: collects the logs of all observers of a workload.
 *
 * @returns the exit code: EXIT.no if a log is missing; EXIT.trouble if all logs are missing and no
 * samples were read; otherwise EXIT.ok
 * @throws UsageError if the command line, the cluster or the destination has a problem
 */
export function collect(
  words: readonly string[],
  options: CollectOptions,
  session: Session,
): Promise<ExitCode> {
  return collectLogs(words, options, session).catch(writeTrouble)
}

/** Rethrows an error of the destination, which the user can correct. */
function writeTrouble(error: unknown): never {
  throw error instanceof WriteError ? new UsageError(error.message) : error
}

async function collectLogs(
  words: readonly string[],
  options: CollectOptions,
  session: Session,
): Promise<ExitCode> {
  const { say } = session
  const artifacts = options.output === 'artifacts' ? artifactFolder(options) : undefined
  const found = await findWorkloadPods(words, options, session.environment)
  const { problem, incomplete } = found
  const { output, follow, parallel } = options
  const target = targetOf(options, session)
  const run = await gatherRun(found, { output, target, artifacts, follow, parallel }, session)
  const observers = run.gathered.map(({ observer }) => observer)
  noticeSentences(observers, problem).forEach(say)
  if (incomplete !== undefined) say(incomplete)
  if (run.observedPods !== null) say(describeObservedPods(run.observedPods))
  return artifacts === undefined ? tell(run, options, say) : tellArtifacts(run, options, say)
}

function artifactFolder({ to }: CollectOptions): ArtifactFolder {
  const path = namedFile(to)
  if (path === undefined) throw new UsageError('--output artifacts needs a folder: use --to DIR/')
  return openArtifactFolder(path)
}

/** Returns the target that `--to` names. */
function targetOf({ to }: CollectOptions, { stdout }: Session): Target {
  const prepare = (text: string) => documentFor(stdout, text)
  return namedFile(to) ?? { name: 'standard output', stream: stdout, prepare }
}

function tell(
  { gathered, unread, kept }: GatheredRun,
  { output, to }: CollectOptions,
  say: Session['say'],
): ExitCode {
  const missing = sayMissing(gathered, say) + unread
  const samples = gathered.reduce((sum, one) => sum + one.samples, 0)
  const all = gathered.length + unread
  const logs = all - missing
  const place = unread > 0 && kept !== undefined ? kept : (to ?? 'standard output')
  say(`${logs} of ${all} logs, ${samples} samples, as ${output} to ${place}`)
  if (missing === 0) return EXIT.ok
  if (kept !== undefined && logs > 0)
    say(`to collect only the missing logs, run the same command again: ${kept} has the others`)
  return logs === 0 && samples === 0 ? EXIT.trouble : EXIT.no
}

/**
 * Says which raw files are missing. Raw files are at the end of a log, so a log that is cut may
 * lack some.
 */
function tellArtifacts(
  { gathered, unread }: GatheredRun,
  { to }: CollectOptions,
  say: Session['say'],
): ExitCode {
  const missing = sayMissing(gathered, say) + unread
  const found = gathered.map(({ observer, artifacts, cuts }) => {
    const { files = 0, problems = [] } = artifacts ?? {}
    for (const problem of problems) say(`${sourceName(observer)}: ${problem}`)
    return { files, isWhole: problems.length === 0 && cuts.length === 0 }
  })
  const files = found.reduce((sum, one) => sum + one.files, 0)
  const isWhole = missing === 0 && found.every((one) => one.isWhole)
  if (files === 0 && isWhole) say(NO_ARTIFACTS)
  say(`${files} raw files of ${gathered.length + unread} logs, to ${to}`)
  if (files === 0) return EXIT.trouble
  return isWhole ? EXIT.ok : EXIT.no
}

const NO_ARTIFACTS =
  'no log contains raw files; a metric with a tool writes them with its option artifacts, ' +
  'such as the annotation cpu-profile.ridealong.dev/artifacts: "true"'
