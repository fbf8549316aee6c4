import { asObjects, type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import { type Pod, readSecurityContext, type SecurityContext } from '../kubernetes/pod.ts'
import { quote } from '../text/quote.ts'
import { resolveIdentity } from './identity.ts'

/**
 * The annotation with the name of the SecurityContextConstraints (SCC) that admitted a pod.
 * OpenShift writes it before it calls webhooks (openshift/kubernetes
 * openshift-kube-apiserver/admission/admissionenablement/register.go), and validates the patched
 * pod afterwards (openshift/apiserver-library-go
 * pkg/securitycontextconstraints/sccadmission/admission.go).
 */
const CONSTRAINTS_KEY = 'openshift.io/scc'

/**
 * SCCs that OpenShift installs (openshift/cluster-kube-apiserver-operator
 * bindata/bootkube/scc-manifests). Administrators must not change them. `privileged` allows
 * everything, and the others any user.
 */
const PRIVILEGED = 'privileged'
const ANY_USER: ReadonlySet<string> = new Set(['anyuid', 'hostmount-anyuid', 'hostmount-anyuid-v2'])

function constraintsOf({ annotations }: Pod): string | undefined {
  const name = annotations?.[CONSTRAINTS_KEY]
  return typeof name === 'string' && name !== '' ? name : undefined
}

/**
 * Reports whether an observer must inherit the seccomp profile of the pod, because the SCC that
 * admitted the pod may refuse a profile of a container.
 *
 * An SCC without `seccompProfiles` refuses every profile. An SCC with profiles has set one of them
 * on the pod, unless it only has the profile `*`, which allows all. Without a profile of its own,
 * an observer is therefore admitted by every SCC (seccomp/strategy.go, Generate and
 * ValidateContainer). Nothing is lost: the runtime of OpenShift applies its default profile to
 * containers without a profile. If a container of the pod has the default profile, the SCC allows
 * the profile.
 */
export function mustInheritSeccomp(pod: Pod): boolean {
  if (constraintsOf(pod) === undefined) return false
  return !containersOf(pod).some(({ securityContext }) => {
    const { seccompProfile } = fieldsOrNone(securityContext)
    return fieldsOrNone(seccompProfile).type === DEFAULT_PROFILE
  })
}

const DEFAULT_PROFILE = 'RuntimeDefault'

/** Returns the containers of a pod as received. */
function containersOf({ spec }: Pod): readonly Fields[] {
  return [...asObjects(spec.containers), ...asObjects(spec.initContainers)]
}

/**
 * Returns the part of a security context from the catalog that the SCC which admitted the pod may
 * refuse, as a sentence, or undefined if the SCC is known to allow all. The rules of the SCC are
 * not known here. A container of the pod shows that the SCC allows a value, because one SCC admits
 * all containers of a pod (sccmatching/matcher.go, AssignSecurityContext).
 *
 * @param context the core/v1 SecurityContext of the observer
 */
export function constraintsProblem(pod: Pod, context: Fields): string | undefined {
  const name = constraintsOf(pod)
  if (name === undefined || name === PRIVILEGED) return undefined
  const user = ANY_USER.has(name) ? undefined : userProblem(pod, context)
  const problem = user ?? privilegeProblem(pod, context) ?? fieldProblem(pod, context)
  return problem && `${problem}, which the SecurityContextConstraints ${quote(name)} may not allow`
}

function contextsOf({ containers, initContainers }: Pod): readonly SecurityContext[] {
  return [...containers, ...initContainers].map(({ securityContext }) => securityContext)
}

/**
 * Reports a user that no container of the pod has. If a container has no user, the SCC allows any
 * user, or any user but root (user/mustrunasrange.go, nonroot.go and runasany.go).
 */
function userProblem(pod: Pod, own: Fields): string | undefined {
  const { user = 0, nonRoot } = resolveIdentity(readSecurityContext(own), pod)
  const isAllowed = contextsOf(pod).some((context) => {
    const allowed = resolveIdentity(context, pod)
    if (allowed.user !== undefined) return allowed.user === user
    return !allowed.nonRoot || (user !== 0 && nonRoot)
  })
  return isAllowed ? undefined : `it runs as user ${user}`
}

function privilegeProblem(pod: Pod, own: Fields): string | undefined {
  const { privileged, addedCapabilities } = readSecurityContext(own)
  const contexts = contextsOf(pod)
  if (privileged && !contexts.some((context) => context.privileged)) return 'it is privileged'
  const added = new Set(contexts.flatMap((context) => context.addedCapabilities))
  const missing = addedCapabilities.find((capability) => !added.has(capability))
  return missing && `it adds the capability ${missing}`
}

/** Reports a field with a value that an SCC can refuse and that no container of the pod has. */
function fieldProblem(pod: Pod, context: Fields): string | undefined {
  if (context.seLinuxOptions !== undefined) return 'it has SELinux options'
  const { type } = fieldsOrNone(context.seccompProfile)
  if (type !== undefined && type !== DEFAULT_PROFILE) return 'it has a seccomp profile'
  const contexts = containersOf(pod).map(({ securityContext }) => fieldsOrNone(securityContext))
  // An SCC that forbids the value has set the other value on all containers of the pod
  // (sccmatching/provider.go, CreateContainerSecurityContext).
  const forbidden = (
    [
      ['allowPrivilegeEscalation', true],
      ['readOnlyRootFilesystem', false],
    ] as const
  ).find(([key, value]) => context[key] === value && contexts.every((one) => one[key] === !value))
  return forbidden && `its ${forbidden[0]} is ${forbidden[1]}`
}
