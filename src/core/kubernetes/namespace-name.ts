/**
 * Matches an RFC 1123 label. Other names are refused, because the name becomes part of a URL path.
 */
export const NAMESPACE_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/**
 * The namespaces that are excluded by default. Pods in excluded namespaces never get observers,
 * whatever their annotations.
 */
export const EXCLUDED_NAMESPACES: readonly string[] = [
  'kube-system',
  'kube-public',
  'kube-node-lease',
]
