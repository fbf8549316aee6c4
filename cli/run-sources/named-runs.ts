import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { ClusterName } from '../../src/cluster/access.ts'
import { WriteError } from '../../src/lib/write-error.ts'
import { noticeSentences } from '../../src/runs/collect/notices.ts'
import type { CollectedTime } from '../../src/runs/time/collected-time.ts'
import { findRunFiles, type RowsOptions } from '../archive/storage/stored-run-files.ts'
import { UsageError } from '../shared/errors.ts'
import { STANDARD_INPUT } from '../shared/run-input.ts'
import type { Session } from '../shared/session.ts'
import { findWorkloadPods } from '../shared/workload-pods.ts'
import { gatherRun, sayMissing } from './gather-run.ts'
import type { RunInput } from './run-entries.ts'
import type { NamedRun } from './run-names.ts'

/** The options of verbs that read runs. */
export interface RunOptions extends RowsOptions, ClusterName {
  /** Whether to wait for the end of runs of the cluster. */
  readonly follow?: boolean
  readonly catalog?: string
  readonly observerImage?: string
}

/** The files of a run. */
export interface RunFiles extends RunInput {
  /** Whether pods of the run have not ended. */
  readonly isRunning: boolean
  /** Whether no log of the run is missing. */
  readonly isWhole: boolean
  /** Where the time of a run of the cluster went until its pods were listed for the last time. */
  readonly time: CollectedTime | null
}

/** Returns the files of a named run. The logs of a run of the cluster are collected. */
export type FindRun = (run: NamedRun) => Promise<RunFiles>

/** Finds the files of one run, of which each name is a part. */
export async function findOneRun(named: readonly NamedRun[], findRun: FindRun): Promise<RunFiles> {
  const found: RunFiles[] = []
  for (const run of named) found.push(await findRun(run))
  return {
    files: found.flatMap(({ files }) => files),
    isOneRun: found.length === 1 && found.every((one) => one.isOneRun),
    isRunning: found.some(({ isRunning }) => isRunning),
    isWhole: found.every(({ isWhole }) => isWhole),
    time: found.length === 1 ? (found[0]?.time ?? null) : null,
  }
}

/** The number of logs that are read at a time. */
const PARALLEL = 8

/**
 * Calls a function that reads runs, and then removes the files that were collected for it.
 *
 * @throws UsageError if a file, the storage of an archive or the cluster has a problem
 */
export async function readRuns<Result>(
  options: RunOptions,
  session: Session,
  read: (findRun: FindRun) => Promise<Result>,
): Promise<Result> {
  let folder: string | undefined
  const remove = () => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  }
  // If the reader of the output is gone, the process ends at once.
  process.once('exit', remove)
  let count = 0
  try {
    return await read(async (run) => {
      if (run.from !== 'cluster') {
        const files = await findRunFiles(run.name, options, session)
        const isOneRun = run.from === 'storage'
        return { files, isOneRun, isRunning: false, isWhole: true, time: null }
      }
      folder ??= mkdtempSync(join(tmpdir(), 'ridealong-run-'))
      count += 1
      return collectRun(run, join(folder, `${count}.jsonl`), options, session)
    })
  } finally {
    process.off('exit', remove)
    remove()
  }
}

/** Collects the logs of a workload into a file. */
async function collectRun(
  { name }: NamedRun,
  target: string,
  options: RunOptions,
  session: Session,
): Promise<RunFiles> {
  const found = await findWorkloadPods([name], options, session.environment)
  const gathering = { output: 'jsonl', target, follow: options.follow, parallel: PARALLEL } as const
  const { gathered, time, unread, isOver } = await gatherRun(found, gathering, session).catch(
    explain,
  )
  const observers = gathered.map(({ observer }) => observer)
  noticeSentences(observers, found.problem).forEach(session.say)
  if (found.incomplete !== undefined) session.say(found.incomplete)
  const missing = sayMissing(gathered, session.say) + unread
  if (!gathered.some(({ missing, samples }) => missing === undefined || samples > 0))
    throw new UsageError(`no log of ${found.words} could be read`)
  // Each Job of a CronJob is a run of its own.
  const isOneRun = !found.words.startsWith('cronjob/')
  return { files: [target], isOneRun, isRunning: !isOver, isWhole: missing === 0, time }
}

function explain(error: unknown): never {
  throw error instanceof WriteError ? new UsageError(error.message) : error
}

/** Returns the names of runs for a text: of a file, only its last part. */
export function describeRuns(runs: readonly NamedRun[]): string {
  const names = runs.map(({ from, name }) => {
    if (name === STANDARD_INPUT) return 'standard input'
    return from === 'files' ? basename(name) : name
  })
  return [...new Set(names)].join(', ')
}
