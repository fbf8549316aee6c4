import type { Decision } from '../../core/decision.ts'
import {
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../core/kubernetes/json.ts'
import { effectiveRestartPolicy } from '../../core/kubernetes/restart-policy.ts'
import { listProcessOneUses, PAUSE } from '../../core/rules/process-one.ts'
import { describeRestartCounting } from '../../core/rules/restart-counting.ts'
import type { Facts } from './facts.ts'
import { type Finding, find } from './finding.ts'
import type { InjectionOutcome } from './injection-outcome.ts'

/**
 * Returns the findings about settings of a pod and its owner that can behave differently with an
 * observer: commands and programs that need the application to be process 1, restarts of the target
 * that are not observed, an owner that counts restarts of observers, and a podFailurePolicy that
 * counts the exit code of an observer. They do not prevent an injection. Returns no findings if the
 * pod would get no observers, or if the outcome of the created pod is not `injected`.
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
  const { metadata, spec } = fieldsOrNone(review.object)
  const uses = listProcessOneUses(fieldsOrNone(spec))
  const labels = fieldsOrNone(fieldsOrNone(metadata).labels)
  const counting = ruleThatCounts(failurePolicy)
  return [
    ...looks('process 1', uses.length === 0 ? undefined : `${uses.join('; ')}; ${PAUSE}`),
    ...looks('restarts', describeUnobserved(decision, fieldsOrNone(spec))),
    ...looks('restarts', describeRestartCounting(labels)),
    ...looks('podFailurePolicy', counting),
  ]
}

function looks(name: string, sentence: string | undefined): readonly Finding[] {
  return sentence === undefined ? [] : [find(name, 'look', sentence)]
}

/**
 * Returns a sentence if the kubelet may start the target again after an observer has ended with it.
 * An observer cannot read the exit code of its target, on which this depends.
 */
function describeUnobserved(decision: Decision, spec: Fields): string | undefined {
  if (decision.outcome !== 'injected' || decision.mode === 'native') return undefined
  const restartPolicy = asText(spec.restartPolicy) ?? 'Always'
  const policy = effectiveRestartPolicy({ restartPolicy }, decision.targetRestarts)
  return policy === 'OnFailure' ? `container ${decision.target} ${UNOBSERVED}` : undefined
}

const UNOBSERVED =
  'may start again after a failure, but an observer in mode container ends with the first ' +
  'attempt; use the mode native to observe all attempts'

/** The exit code of a process that SIGKILL ended. */
const KILLED = 137

const COUNTS = `also counts an observer that is killed (exit code ${KILLED}); set containerName`

/**
 * Returns a sentence about the first rule that counts the exit code of a killed observer. A rule
 * without containerName applies to all containers, also to init containers (kubernetes v1.36
 * pkg/controller/job/pod_failure_policy.go, getMatchingContainerFromList).
 */
function ruleThatCounts(policy: unknown): string | undefined {
  const rules = asObjects(fieldsOrNone(policy).rules)
  const index = rules.findIndex(({ onExitCodes }) => {
    const { containerName, operator, values } = fieldsOrNone(onExitCodes)
    const isListed = listOrNone(values).includes(KILLED)
    const isCounted = operator === 'NotIn' ? !isListed : operator === 'In' && isListed
    return containerName === undefined && isCounted
  })
  return index < 0 ? undefined : `rule ${index + 1} names no container, so it ${COUNTS}`
}
