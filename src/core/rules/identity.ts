import type { Pod, SecurityContext } from '../kubernetes/pod.ts'

/**
 * The user and group of a container, from its security context or, if not set there, from the pod's
 * security context. If a value is undefined, the image determines it.
 */
export interface Identity {
  readonly user: number | undefined
  readonly group: number | undefined
  readonly nonRoot: boolean
}

/** Resolves the user and group of a container from its security context and the pod's context. */
export function resolveIdentity(context: SecurityContext, pod: Pod): Identity {
  const { runAsUser, runAsGroup, runAsNonRoot } = pod.securityContext
  return {
    user: context.runAsUser ?? runAsUser,
    group: context.runAsGroup ?? runAsGroup,
    nonRoot: context.runAsNonRoot ?? runAsNonRoot ?? false,
  }
}
