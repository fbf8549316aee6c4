import { type Identity, observer, type Pod, type Running, until } from '../observers/pod.ts'
import { onPath } from '../observers/prerequisites.ts'

export const NATIVE = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '1' }
export const CONTAINER = {
  ...NATIVE,
  RIDEALONG_MODE: 'container',
  RIDEALONG_RESTART_POLICY: 'Never',
}

/** A pod with the observer of a tool. */
export interface WatchedPod {
  readonly watching: Running
  /** Starts a program in any container of the pod. */
  readonly run: Pod['run']
  /** Starts a program with the tool in the target container. */
  start(...argv: readonly string[]): Promise<Running>
}

/** The users of the observer and of the target. */
export interface Users {
  readonly observer?: Identity
  readonly target?: Identity
}

export interface WatchOptions {
  readonly metric:
    | 'gpu-nvidia'
    | 'mpi-trace'
    | 'python-profile'
    | 'torch-collectives'
    | 'torch-trace'
  /** The environment of the observer. */
  readonly settings: NodeJS.ProcessEnv
  /** The variables that load the tool. Only the program gets them, and not its launcher. */
  readonly tool: Readonly<Record<string, string>>
  /** The environment of the program and of its launcher. */
  readonly env: NodeJS.ProcessEnv
  readonly as: Users
}

/** Starts the observer of a tool in a pod, and waits until it waits for the target. */
export async function watchPod(pod: Pod, options: WatchOptions): Promise<WatchedPod> {
  const { metric, settings, tool, env, as } = options
  const watching = await pod.run(metric, [observer(metric)], settings, as.observer)
  await until(watching, /waiting for/)
  const loading = [onPath('env'), ...Object.entries(tool).map((pair) => pair.join('='))]
  return {
    watching,
    run: pod.run,
    start: (...argv) => pod.run('app', [...loading, ...argv], env, as.target),
  }
}
