import { ApiError, describeApiError } from '../../src/cluster/api-error.ts'
import type { Access } from '../../src/cluster/cluster.ts'
import { type ExecResult, execInContainer } from '../../src/cluster/exec.ts'
import type { PodOfObservers, RunningObserver } from '../../src/runs/collect/observers.ts'
import type { AskedPod } from '../../src/runs/stacks/members.ts'
import { readPodStacks } from '../../src/runs/stacks/pod-stacks.ts'

/** The program of all built-in observers, and its command. */
const COMMAND = ['ridealong-observer', 'stacks']
/** The metrics whose tools make stacks. Any other observer knows what the processes do. */
const WITH_STACKS = ['cpu-profile', 'python-profile']
/** The maximum time until the answer of a pod; the program itself ends after 25 seconds. */
const PATIENCE_MS = 40_000
/** The exit codes of the program: the command line is invalid, and it took too long. */
const INVALID = 2
const TIMED_OUT = 3

/**
 * Asks the observer of a pod for the stacks of its processes.
 *
 * @returns the processes, or why there is no answer; `forbidden` if the user may not run programs
 * in containers
 */
export async function askPod(
  access: Access,
  namespace: string,
  pod: PodOfObservers,
  hasThreads: boolean,
): Promise<AskedPod['answer'] | 'forbidden'> {
  if (pod.isOver) return { why: 'the pod has ended' }
  const observer = chooseObserver(pod.observers)
  if (observer === undefined) return { why: reasonWithoutObserver(pod) }
  const { container } = observer
  const argv = hasThreads ? [...COMMAND, '--threads'] : COMMAND
  try {
    const place = { namespace, pod: pod.name, container }
    return readResult(await execInContainer(access, place, argv, PATIENCE_MS), container)
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return 'forbidden'
    return { why: `the observer ${container} cannot be asked: ${describeApiError(error)}` }
  }
}

function chooseObserver(observers: readonly RunningObserver[]): RunningObserver | undefined {
  const running = observers.filter(({ state }) => state === 'running')
  const named = WITH_STACKS.flatMap((name) => running.filter(({ container }) => container === name))
  // The program finds the sampler of Python from the container of any observer, and the folder of
  // the results of cpu-profile only from its own.
  return named[0] ?? running[0]
}

function reasonWithoutObserver({ observers, left }: PodOfObservers): string {
  if (observers.length > 0) return `the observer ${observers[0]?.container} does not run`
  return left === null ? 'the pod has no observer' : `the pod has no observer: ${left}`
}

function readResult(result: ExecResult, container: string): AskedPod['answer'] {
  const { exitCode, stdout, stderr } = result
  const said = stderr.trim().split('\n').at(-1) ?? ''
  if (exitCode === INVALID) return { why: `the observer ${container} is of an earlier release` }
  if (exitCode === TIMED_OUT) return { why: `the observer ${container} took too long` }
  if (exitCode !== 0) return { why: `the observer ${container} cannot make stacks: ${said}` }
  const answer = readPodStacks(stdout)
  return answer ?? { why: `the answer of the observer ${container} is not valid` }
}
