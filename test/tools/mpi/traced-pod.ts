import { mkdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import {
  type Identity,
  observer,
  openFolder,
  type Pod,
  podOf,
  type Running,
  until,
} from '../../observers/pod.ts'
import { onPath } from '../../observers/prerequisites.ts'
import { MPI_ENV, programsFor } from './programs.ts'

export const NATIVE = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '1' }
export const CONTAINER = {
  ...NATIVE,
  RIDEALONG_MODE: 'container',
  RIDEALONG_RESTART_POLICY: 'Never',
}

/**
 * How a folder is removed in which processes of a pod write. It is removed after the end of the
 * pod: what the test prepares first is undone last. The killed processes may take a moment to end.
 */
export const REMOVAL = { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }

/** A pod with the volume of mpi-trace, and the observer. */
export interface TracedPod {
  readonly results: string
  readonly watching: Running
  /** Starts a program in any container of the pod. */
  readonly run: Pod['run']
  /** Starts a program with the recorder in the target container. */
  start(...argv: readonly string[]): Promise<Running>
}

/** The users of the observer and of the target. */
export interface Users {
  readonly observer?: Identity
  readonly target?: Identity
}

export async function tracedPod(
  t: Pick<Test, 'teardown'>,
  env: NodeJS.ProcessEnv = CONTAINER,
  as: Users = {},
): Promise<TracedPod> {
  const volume = openFolder('ridealong-volume-')
  t.teardown(() => rm(volume, REMOVAL))
  const pod = await podOf(t)
  const { folder, recorder } = programsFor('mpich')
  const source = join(folder, 'tool')
  mkdirSync(source, { recursive: true })
  writeFileSync(join(source, 'README'), '')
  const folders = { RIDEALONG_TOOL_SOURCE: source, RIDEALONG_TOOL_VOLUME: volume }
  const installer = await pod.run('mpi-trace-install', [observer('install')], folders)
  if ((await installer.ended) !== 0) throw new Error(`the installer failed: ${installer.log()}`)
  const results = join(volume, 'results')
  const settings = { RIDEALONG_RESULTS: results, ...env }
  const watching = await pod.run('mpi-trace', [observer('mpi-trace')], settings, as.observer)
  await until(watching, /waiting for/)
  const preloaded = [onPath('env'), `LD_PRELOAD=${recorder}`, `RIDEALONG_MPI_TRACE=${results}`]
  return {
    results,
    watching,
    run: pod.run,
    start: (...argv) => pod.run('app', [...preloaded, ...argv], MPI_ENV, as.target),
  }
}
