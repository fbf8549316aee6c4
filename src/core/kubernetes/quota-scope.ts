import { asText, type Fields, fieldsOrNone, listOrNone } from './json.ts'

/** A condition for the pods that a quota counts: a core/v1 ScopedResourceSelectorRequirement. */
export interface Scope {
  readonly name: string
  readonly operator: string
  readonly values: readonly unknown[]
}

/**
 * Reads `spec.scopes` and `spec.scopeSelector` of a ResourceQuota. A quota counts the pods that
 * match all scopes.
 */
export function readScopes(spec: Fields): readonly Scope[] {
  const { scopes, scopeSelector } = spec
  const names = listOrNone(scopes).map((name) => ({ scopeName: name, operator: 'Exists' }))
  const selectors = listOrNone(fieldsOrNone(scopeSelector).matchExpressions)
  return [...names, ...selectors].map(fieldsOrNone).map(({ scopeName, operator, values }) => ({
    name: asText(scopeName) ?? '',
    operator: asText(operator) ?? '',
    values: listOrNone(values),
  }))
}

/**
 * Reports whether a pod matches a scope. No pod matches a scope for other objects.
 *
 * The rule comes from kubernetes v1.36 pkg/quota/v1/evaluator/core/pods.go, podMatchesScopeFunc.
 *
 * @param spec the spec of the pod
 */
export function isInScope(scope: Scope, spec: Fields, isBestEffort: boolean): boolean {
  const deadline = spec.activeDeadlineSeconds
  const isTerminating = typeof deadline === 'number' && deadline >= 0
  switch (scope.name) {
    case 'BestEffort':
      return isBestEffort
    case 'NotBestEffort':
      return !isBestEffort
    case 'Terminating':
      return isTerminating
    case 'NotTerminating':
      return !isTerminating
    case 'PriorityClass':
      return isOfPriorityClass(scope, asText(spec.priorityClassName) ?? '')
    case 'CrossNamespacePodAffinity':
      return looksBeyondItsNamespace(spec)
    default:
      return false
  }
}

/**
 * Matches a priority class as a label selector matches a label. A pod without a priority class is
 * treated as an object without the label.
 */
function isOfPriorityClass({ operator, values }: Scope, priorityClass: string): boolean {
  switch (operator) {
    case 'In':
      return priorityClass !== '' && values.includes(priorityClass)
    case 'NotIn':
      return !values.includes(priorityClass)
    case 'Exists':
      return priorityClass !== ''
    case 'DoesNotExist':
      return priorityClass === ''
    default:
      return false
  }
}

function looksBeyondItsNamespace({ affinity }: Fields): boolean {
  const { podAffinity, podAntiAffinity } = fieldsOrNone(affinity)
  return [podAffinity, podAntiAffinity].map(fieldsOrNone).some((rules) => {
    const required = listOrNone(rules.requiredDuringSchedulingIgnoredDuringExecution)
    const preferred = listOrNone(rules.preferredDuringSchedulingIgnoredDuringExecution)
    const weighted = preferred.map((term) => fieldsOrNone(term).podAffinityTerm)
    return [...required, ...weighted]
      .map(fieldsOrNone)
      .some(({ namespaces, namespaceSelector }) => {
        return listOrNone(namespaces).length > 0 || (namespaceSelector ?? null) !== null
      })
  })
}
