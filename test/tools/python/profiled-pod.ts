import { rm } from 'node:fs/promises'
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
import { sampling } from './sampler.ts'

const CONTAINER = {
  RIDEALONG_TARGET_CONTAINER: 'app',
  RIDEALONG_OPTION_RATE: '1',
  RIDEALONG_MODE: 'container',
  RIDEALONG_RESTART_POLICY: 'Never',
}

/** A pod with the observer of python-profile. */
export interface ProfiledPod {
  readonly watching: Running
  /** Starts a program with the sampler in the target container. */
  start(...argv: readonly string[]): Promise<Running>
  readonly run: Pod['run']
}

/** The users of the observer and of the target. */
export interface Users {
  readonly observer?: Identity
  readonly target?: Identity
}

export async function profiledPod(
  t: Test,
  env: NodeJS.ProcessEnv = {},
  as: Users = {},
): Promise<ProfiledPod> {
  const results = openFolder('ridealong-results-')
  t.teardown(() => rm(results, { recursive: true, force: true }))
  const pod = await podOf(t)
  const settings = { ...CONTAINER, RIDEALONG_RESULTS: results, ...env }
  const watching = await pod.run(
    'python-profile',
    [observer('python-profile')],
    settings,
    as.observer,
  )
  await until(watching, /waiting for/)
  const { LD_PRELOAD, ...variables } = sampling()
  const preloaded = [onPath('env'), `LD_PRELOAD=${LD_PRELOAD}`]
  return {
    watching,
    run: pod.run,
    start: (...argv) => pod.run('app', [...preloaded, ...argv], variables, as.target),
  }
}
