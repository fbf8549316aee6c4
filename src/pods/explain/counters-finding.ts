import type { Decision } from '../../core/decision.ts'
import { PRIVILEGE_LABEL } from '../../core/keys.ts'
import type { CounterObstacle } from '../../core/rules/counters.ts'
import { type Finding, find } from './finding.ts'
import type { InjectionOutcome } from './injection-outcome.ts'

/** The explanation why I/O is or may be hidden from an observer, with advice. */
const OBSTACLES: Readonly<Record<CounterObstacle, string>> = {
  user:
    'the observer runs as another user or group than the target; ' +
    'give both the same runAsUser and runAsGroup',
  image:
    'the user or group of the target is set only in its image; ' +
    'set runAsUser and runAsGroup in the securityContext of the pod',
  capabilities:
    'the target is privileged or adds capabilities, and observers do not get them; ' +
    'remove them from the target, or use a metric that adds SYS_PTRACE, ' +
    `in a namespace with the label ${PRIVILEGE_LABEL}=privileged`,
  'app-armor':
    'the target has another AppArmor profile than the observer; ' +
    'set appArmorProfile in the securityContext of the pod, not of the container',
  selinux:
    'the target has other SELinux options than the observer; ' +
    'set seLinuxOptions in the securityContext of the pod, not of the container',
  sandbox:
    'the RuntimeClass of the pod runs its containers in a sandbox, ' +
    'where the rules of Linux about /proc may not apply; the metadata of the log say what was read',
  several:
    'it differs between the containers or the observers of the pod; ' +
    'give all containers the same runAsUser and runAsGroup, or observe one container',
}

/**
 * Returns a finding about the counters that the observers of a pod can read, with advice if some
 * counters may be hidden. Returns no finding if the pod would get no observers, if the outcome of
 * the created pod is not `injected`, or if its status annotation contains another prediction.
 *
 * @param out the outcome of the pod, if it was created
 */
export function countersFinding(
  decision: Decision,
  out: InjectionOutcome | undefined,
): readonly Finding[] {
  if (decision.outcome !== 'injected') return []
  const { counters: predicted } = decision
  const isOther = out?.outcome !== 'injected' || out.counters !== predicted.counters
  if (out !== undefined && isOther) return []
  if (predicted.counters === 'all') return [find('counters', 'ok', 'all can be read')]
  const why = OBSTACLES[predicted.obstacle]
  return predicted.counters === 'no-io'
    ? [find('counters', 'look', `I/O cannot be read: ${why}`)]
    : [find('counters', 'unknown', `whether I/O can be read: ${why}`)]
}
