/** RFC 1123 labels alone: a name becomes a part of a path. */
export const NAMESPACE_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** Where observers never ride, whatever anybody annotates, unless an administrator says otherwise. */
export const EXCLUDED_NAMESPACES: readonly string[] = [
  'kube-system',
  'kube-public',
  'kube-node-lease',
]
