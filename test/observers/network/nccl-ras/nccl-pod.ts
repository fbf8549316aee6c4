import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { observer, type Pod, podOf, type Running, until } from '../../pod.ts'
import { onPath } from '../../prerequisites.ts'

const SERVICE = fileURLToPath(new URL('service.py', import.meta.url))
const ANSWERS = fileURLToPath(
  new URL('../../../../observer/crates/observer/tests/nccl-answers/', import.meta.url),
)

/** Returns the path of an answer that NCCL documents, or that its source code writes. */
export const answer = (name: string) => `${ANSWERS}${name}`

/** The address of each simulated pod. */
export const ADDRESS = '10.0.0.1'

/** A pod with an observer of nccl-ras. */
export interface NcclPod {
  readonly pod: Pod
  readonly watching: Running
  /** Starts a service that stands in for NCCL's, and waits until it listens. */
  serve(words: readonly string[], env?: NodeJS.ProcessEnv): Promise<Running>
  /** Starts a process that sleeps. */
  rank(env: NodeJS.ProcessEnv): Promise<Running>
}

/** Starts a pod with a network of its own and an observer that asks often. */
export async function ncclPod(t: Test, env: NodeJS.ProcessEnv = {}): Promise<NcclPod> {
  const pod = await podOf(t, true)
  const inside = ['-t', String(pod.pid), '-n', 'ip']
  execFileSync('nsenter', [...inside, 'link', 'set', 'lo', 'up'])
  execFileSync('nsenter', [...inside, 'address', 'add', `${ADDRESS}/32`, 'dev', 'lo'])
  const settings = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3', ...env }
  const watching = await pod.run('nccl-ras', [observer('nccl-ras')], settings)
  await until(watching, /waiting for/)
  const python = onPath('python3')
  return {
    pod,
    watching,
    serve: async (words, own = {}) => {
      const service = await pod.run('app', [python, SERVICE, ...words], own)
      await until(service, /listening/)
      return service
    },
    rank: (own) => pod.run('app', [onPath('sleep'), 'infinity'], own),
  }
}

/** Ends an observer as the kubelet does, and returns the milliseconds until its end. */
export async function stop({ watching }: NcclPod): Promise<number> {
  const from = performance.now()
  watching.signal('SIGTERM')
  await watching.ended
  return performance.now() - from
}
