/**
 * Matches an RFC 1123 label. No other name is accepted, because the name becomes part of a path.
 */
export const NAMESPACE_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/**
 * The namespaces that never receive observers, whatever their annotations, unless an administrator
 * configures another list.
 */
export const EXCLUDED_NAMESPACES: readonly string[] = [
  'kube-system',
  'kube-public',
  'kube-node-lease',
]
