import type { Decision } from '../../core/decision.ts'
import {
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../core/kubernetes/json.ts'
import type { Facts } from './facts.ts'
import { type Finding, find } from './finding.ts'
import type { InjectionOutcome } from './injection-outcome.ts'

/**
 * Returns the findings about settings of a pod and its Job that can behave differently with an
 * observer: commands and programs that need the application to be process 1, and a podFailurePolicy
 * that counts the exit code of an observer. They do not prevent an injection. Returns no findings
 * if the pod would get no observers, or if the outcome of the created pod is not `injected`.
 *
 * @param out the outcome of the pod, if it was created
 */
export function workloadFindings(
  { review, failurePolicy }: Pick<Facts, 'review' | 'failurePolicy'>,
  decision: Decision,
  out: InjectionOutcome | undefined,
): readonly Finding[] {
  const isInjected =
    out === undefined ? decision.outcome === 'injected' : out.outcome === 'injected'
  if (!isInjected) return []
  const { containers, initContainers } = fieldsOrNone(fieldsOrNone(review.object).spec)
  const uses = [...asObjects(containers), ...asObjects(initContainers)].flatMap(firstProcessUses)
  const shared =
    uses.length === 0 ? [] : [find('process 1', 'look', `${uses.join('; ')}; ${PAUSE}`)]
  const counting = ruleThatCounts(failurePolicy)
  if (counting === undefined) return shared
  const sentence = `rule ${counting} names no container, so it ${COUNTS}`
  return [...shared, find('podFailurePolicy', 'look', sentence)]
}

const PAUSE = 'with an observer, process 1 is the pause process of the pod'

/** The fields of a container with probes and hooks, and the path of the handler in each. */
const HANDLERS: readonly (readonly string[])[] = [
  ['livenessProbe'],
  ['readinessProbe'],
  ['startupProbe'],
  ['lifecycle', 'postStart'],
  ['lifecycle', 'preStop'],
]

/** The exit code of a process that SIGKILL ended. */
const KILLED = 137

const COUNTS = `also counts an observer that is killed (exit code ${KILLED}); set containerName`

/** Returns a clause for each probe, hook and program that needs process 1. */
function firstProcessUses(container: Fields): readonly string[] {
  const name = `container ${asText(container.name) ?? ''}`
  const handlers = HANDLERS.filter((path) => {
    const handler = path.reduce((fields, key) => fieldsOrNone(fields[key]), container)
    return usesFirstProcess(wordsOf(fieldsOrNone(handler.exec).command))
  })
  const [program = ''] = wordsOf(container.command)
  return [
    ...handlers.map((path) => `the ${path.at(-1)} of ${name} uses process 1`),
    ...(INITS.has(program) ? [`${program} of ${name} must be process 1`] : []),
  ]
}

/** Programs that start services and must be process 1: s6-overlay, systemd, System V init. */
const INITS: ReadonlySet<string> = new Set([
  '/init',
  '/sbin/init',
  '/usr/sbin/init',
  '/lib/systemd/systemd',
  '/usr/lib/systemd/systemd',
])

function wordsOf(command: unknown): readonly string[] {
  return listOrNone(command).flatMap((word) => asText(word) ?? [])
}

/** Matches a signal to process 1, and a path of process 1. */
const FIRST_PROCESS = /\bkill\b[^;&|\n]*\s1(?![\w.])|\/proc\/1(?!\d)/

function usesFirstProcess(words: readonly string[]): boolean {
  return FIRST_PROCESS.test(words.join(' '))
}

/**
 * Returns the number of the first rule that counts the exit code of a killed observer. A rule
 * without containerName applies to all containers, also to init containers (kubernetes v1.36
 * pkg/controller/job/pod_failure_policy.go, getMatchingContainerFromList).
 */
function ruleThatCounts(policy: unknown): number | undefined {
  const rules = asObjects(fieldsOrNone(policy).rules)
  const index = rules.findIndex(({ onExitCodes }) => {
    const { containerName, operator, values } = fieldsOrNone(onExitCodes)
    const isListed = listOrNone(values).includes(KILLED)
    const isCounted = operator === 'NotIn' ? !isListed : operator === 'In' && isListed
    return containerName === undefined && isCounted
  })
  return index < 0 ? undefined : index + 1
}
