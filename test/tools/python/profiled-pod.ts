import { rm } from 'node:fs/promises'
import type { Test } from 'tap'
import { openFolder, podOf } from '../../observers/pod.ts'
import { CONTAINER, type Users, type WatchedPod, watchPod } from '../watched-pod.ts'
import { sampling } from './sampler.ts'

/** A pod with the observer of python-profile, and the environment of this observer. */
export interface ProfiledPod extends WatchedPod {
  readonly settings: NodeJS.ProcessEnv
}

/** Starts a pod with the observer of python-profile. Programs in the target have the sampler. */
export async function profiledPod(
  t: Test,
  env: NodeJS.ProcessEnv = {},
  as: Users = {},
  mode: NodeJS.ProcessEnv = CONTAINER,
): Promise<ProfiledPod> {
  const results = openFolder('ridealong-results-')
  t.teardown(() => rm(results, { recursive: true, force: true }))
  const pod = await podOf(t)
  const settings = { ...mode, RIDEALONG_RESULTS: results, ...env }
  const { LD_PRELOAD, ...variables } = sampling()
  const options = { metric: 'python-profile', settings, tool: { LD_PRELOAD }, as } as const
  return { ...(await watchPod(pod, { ...options, env: variables })), settings }
}
