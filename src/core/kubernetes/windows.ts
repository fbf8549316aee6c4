import { asFields, asObjects, asText, type Fields, fieldsOrNone, listOrNone } from './json.ts'

/** The labels with the operating system of a node; the kubelet sets both. */
const OS_LABELS: ReadonlySet<string> = new Set(['kubernetes.io/os', 'beta.kubernetes.io/os'])

/**
 * The label with the Windows build of a node, which only nodes with Windows have (kubernetes v1.36
 * staging/src/k8s.io/api/core/v1/well_known_labels.go, LabelWindowsBuild).
 */
const BUILD_LABEL = 'node.kubernetes.io/windows-build'

/**
 * Reports whether a pod can only run on Windows: its `spec.os`, a security context for processes of
 * a Windows host, its node selector or its required node affinity says so. `spec.os` takes
 * precedence, and the node selector over the affinity.
 *
 * @param spec the spec of a pod that has not been validated
 */
export function isWindows(spec: Fields): boolean {
  const name = asText(asFields(spec.os)?.name)
  if (name !== undefined) return name === 'windows'
  if (isHostProcess(spec) || asObjects(spec.containers).some(isHostProcess)) return true
  const selector = fieldsOrNone(spec.nodeSelector)
  if (selector[BUILD_LABEL] !== undefined) return true
  const selected = [...OS_LABELS].map((label) => selector[label]).find((os) => os !== undefined)
  return selected === undefined ? requiresWindows(spec.affinity) : selected === 'windows'
}

/**
 * Reports whether a pod or a container runs as a process of a Windows host (kubernetes v1.36
 * pkg/apis/core/types.go, WindowsSecurityContextOptions).
 */
function isHostProcess({ securityContext }: Fields): boolean {
  const { windowsOptions } = fieldsOrNone(securityContext)
  return fieldsOrNone(windowsOptions).hostProcess === true
}

/**
 * Reports whether the required node affinity allows only nodes with Windows. A node must match any
 * of the terms, and all expressions of this term (component-helpers v0.36
 * scheduling/corev1/nodeaffinity/nodeaffinity.go, NodeSelector.Match).
 */
function requiresWindows(affinity: unknown): boolean {
  const { nodeAffinity } = fieldsOrNone(affinity)
  const { requiredDuringSchedulingIgnoredDuringExecution: required } = fieldsOrNone(nodeAffinity)
  const terms = listOrNone(fieldsOrNone(required).nodeSelectorTerms)
  return terms.length > 0 && terms.every((term) => hasWindowsOnly(fieldsOrNone(term)))
}

function hasWindowsOnly({ matchExpressions }: Fields): boolean {
  return asObjects(matchExpressions).some(selectsWindows)
}

function selectsWindows({ key, operator, values }: Fields): boolean {
  if (key === BUILD_LABEL) return operator !== 'NotIn' && operator !== 'DoesNotExist'
  if (!OS_LABELS.has(asText(key) ?? '')) return false
  const systems = listOrNone(values)
  if (operator === 'NotIn') return systems.includes('linux')
  return operator === 'In' && systems.length > 0 && systems.every((os) => os === 'windows')
}
