import { asObjects, type Fields } from './json.ts'

const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'] as const

export type RestartPolicy = (typeof RESTART_POLICIES)[number]

/** The fields of a container that decide whether it starts again after it has ended (KEP-5307). */
export interface ContainerRestarts {
  /**
   * The restart policy of the container; undefined if it has the policy of its pod. An init
   * container with `Always` is a native sidecar (KEP-753).
   */
  readonly restartPolicy: RestartPolicy | undefined
  /**
   * Whether a rule starts the container again after some exit codes. A rule that restarts all
   * containers of the pod does not count, because it restarts the observers, too (KEP-5532).
   */
  readonly hasRestartRules: boolean
}

/** Reads the restart policy of a container. A value that Kubernetes does not know is missing. */
export function readRestarts({ restartPolicy, restartPolicyRules }: Fields): ContainerRestarts {
  return {
    restartPolicy: RESTART_POLICIES.find((policy) => policy === restartPolicy),
    hasRestartRules: asObjects(restartPolicyRules).some(({ action }) => action === 'Restart'),
  }
}

/** Reports whether a container starts again whenever it has ended. */
export function isAlwaysRestarted({
  restartPolicy,
}: Pick<ContainerRestarts, 'restartPolicy'>): boolean {
  return restartPolicy === 'Always'
}

/**
 * Returns the restart policy that applies to a container: its own, or else that of its pod. A
 * container with `Never` that rules start again after some exit codes has `OnFailure`.
 */
export function effectiveRestartPolicy(
  pod: { readonly restartPolicy: string },
  container: ContainerRestarts,
): string {
  const policy = container.restartPolicy ?? pod.restartPolicy
  return policy === 'Never' && container.hasRestartRules ? 'OnFailure' : policy
}
