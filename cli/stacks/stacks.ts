import { ApiError, describeApiError, describeFailure } from '../../src/cluster/api-error.ts'
import type { Access } from '../../src/cluster/cluster.ts'
import { type ExecResult, execInContainer, findMissingExecVerbs } from '../../src/cluster/exec.ts'
import { inOrder } from '../../src/runs/collect/gather.ts'
import type { PodOfObservers, RunningObserver } from '../../src/runs/collect/observers.ts'
import type { WorkloadPods } from '../../src/runs/collect/workload-pods.ts'
import { METRICS } from '../../src/runs/metrics/index.ts'
import type { RunMetric } from '../../src/runs/metrics/metric.ts'
import type { AskedPod } from '../../src/runs/stacks/members.ts'
import { readPodStacks } from '../../src/runs/stacks/pod-stacks.ts'
import { type ShownStacks, type StacksFormat, showStacks } from '../../src/runs/stacks/show.ts'
import { EXIT, type ExitCode, UsageError } from '../shared/errors.ts'
import { openCluster } from '../shared/open-cluster.ts'
import { terminalWidth } from '../shared/output.ts'
import type { Session } from '../shared/session.ts'
import { findWorkloadPods, type WorkloadOptions } from '../shared/workload-pods.ts'

export interface StacksOptions extends WorkloadOptions {
  readonly all?: boolean
  readonly full?: boolean
  readonly native?: boolean
  readonly threads?: boolean
  readonly output: StacksFormat
}

/** The most pods that are asked at a time. */
const AT_A_TIME = 64
/** The width of a line if standard output is not a terminal. */
const USUAL_WIDTH = 120

/**
 * Runs `ridealong stacks KIND/NAME`: prints the stacks of all ranks now, merged into groups.
 *
 * @returns the exit code: EXIT.no if a process has neither a stack nor a known call, and
 * EXIT.trouble if no pod has answered
 * @throws UsageError if the command line, the cluster or the rights of the user have a problem
 */
export async function stacks(
  words: readonly string[],
  options: StacksOptions,
  { environment, stdout, print, say }: Session,
): Promise<ExitCode> {
  const found = await findWorkloadPods(words, options, environment)
  const { access } = await openCluster(options, environment)
  const { namespace } = found
  const ask = async (pod: PodOfObservers) => {
    return { pod, answer: await askPod(access, namespace, pod, options.threads ?? false) }
  }
  const pods: AskedPod[] = []
  for await (const { pod, answer } of inOrder(found.pods, AT_A_TIME, ask)) {
    if (answer === 'forbidden') return explainRefusal(found)
    pods.push({ pod: pod.name, pod_index: pod.pod_index, answer })
  }
  const shown = showStacks(pods, {
    all: options.all ?? false,
    full: options.full ?? false,
    native: options.native ?? false,
    format: options.output,
    width: terminalWidth(stdout) ?? USUAL_WIDTH,
  })
  print(shown.output)
  shown.notices.forEach(say)
  if (found.incomplete !== undefined) say(found.incomplete)
  return exitCode(pods, shown)
}

function exitCode(pods: readonly AskedPod[], { isWhole }: ShownStacks): ExitCode {
  if (pods.every(({ answer }) => 'why' in answer)) return EXIT.trouble
  return isWhole ? EXIT.ok : EXIT.no
}

/** @throws UsageError that names the rights that the user lacks to run a program in a container */
async function explainRefusal({ apiserver, namespace }: WorkloadPods): Promise<never> {
  const verbs = await findMissingExecVerbs(apiserver, namespace).catch((problem: unknown) => {
    throw new UsageError(describeFailure(problem))
  })
  throw new UsageError(describeForbidden(verbs, namespace))
}

/** @param verbs the verbs on `pods/exec` that the user lacks */
function describeForbidden(verbs: readonly string[], namespace: string): string {
  if (verbs.length === 0)
    return `the cluster refuses pods/exec in namespace ${namespace}, although your role allows it`
  const rights = verbs.map((verb) => `${verb} pods/exec`).join(' and ')
  return (
    `you lack the right to ${rights} in namespace ${namespace}: ` +
    `a role needs the verbs create and get of the resource pods/exec`
  )
}

/** The program of all built-in observers, and its command. */
const COMMAND = ['ridealong-observer', 'stacks']
/** The metrics whose tools make stacks. Any other observer knows what the processes do. */
const WITH_STACKS = METRICS.toReversed().flatMap(({ name, makesStacks = false }: RunMetric) =>
  makesStacks ? name : [],
)
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
async function askPod(
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
