import type { Decision } from '../../core/decision.ts'
import { asObjects, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import { listProcessOneUses, PAUSE } from '../../core/rules/process-one.ts'
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
  const uses = listProcessOneUses(fieldsOrNone(fieldsOrNone(review.object).spec))
  const shared =
    uses.length === 0 ? [] : [find('process 1', 'look', `${uses.join('; ')}; ${PAUSE}`)]
  const counting = ruleThatCounts(failurePolicy)
  if (counting === undefined) return shared
  const sentence = `rule ${counting} names no container, so it ${COUNTS}`
  return [...shared, find('podFailurePolicy', 'look', sentence)]
}

/** The exit code of a process that SIGKILL ended. */
const KILLED = 137

const COUNTS = `also counts an observer that is killed (exit code ${KILLED}); set containerName`

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
