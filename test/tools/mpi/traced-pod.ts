import { mkdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { observer, openFolder, podOf } from '../../observers/pod.ts'
import { CONTAINER, type Users, type WatchedPod, watchPod } from '../watched-pod.ts'
import { LIBRARIES, MPI_ENV, programsFor } from './programs.ts'

/**
 * How a folder is removed in which processes of a pod write. It is removed after the end of the
 * pod: what the test prepares first is undone last. The killed processes may take a moment to end.
 */
const REMOVAL = { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }

/** A pod with the volume and the observer of mpi-trace. Programs in the target are recorded. */
export interface TracedPod extends WatchedPod {
  readonly results: string
}

/**
 * Starts such a pod. All programs are built before: the observer gives up if the target has not
 * started after 30 seconds, and a busy machine builds them in more.
 */
export async function tracedPod(
  t: Pick<Test, 'teardown'>,
  env: NodeJS.ProcessEnv = CONTAINER,
  as: Users = {},
): Promise<TracedPod> {
  const { install, observe } = await restartedPod(t, env, as)
  await install()
  return observe()
}

/** A pod whose containers start more than once. Its volume and its process 1 stay. */
export interface RestartedPod {
  /** Runs the init container with the installer. */
  readonly install: () => Promise<void>
  /** Starts the observer. */
  readonly observe: () => Promise<TracedPod>
}

/** Creates such a pod. */
export async function restartedPod(
  t: Pick<Test, 'teardown'>,
  env: NodeJS.ProcessEnv,
  as: Users = {},
): Promise<RestartedPod> {
  for (const library of LIBRARIES) programsFor(library)
  const volume = openFolder('ridealong-volume-')
  t.teardown(() => rm(volume, REMOVAL))
  const pod = await podOf(t)
  const { folder, recorder } = programsFor('mpich')
  const source = join(folder, 'tool')
  mkdirSync(source, { recursive: true })
  writeFileSync(join(source, 'README'), '')
  const folders = { RIDEALONG_TOOL_SOURCE: source, RIDEALONG_TOOL_VOLUME: volume }
  const results = join(volume, 'results')
  const settings = { RIDEALONG_RESULTS: results, ...env }
  const tool = { LD_PRELOAD: recorder, RIDEALONG_MPI_TRACE: results }
  const options = { metric: 'mpi-trace', settings, tool, env: MPI_ENV, as } as const
  return {
    install: async () => {
      const installer = await pod.run('mpi-trace-install', [observer('install')], folders)
      if ((await installer.ended) !== 0) throw new Error(`the installer failed: ${installer.log()}`)
    },
    observe: async () => ({ results, ...(await watchPod(pod, options)) }),
  }
}
