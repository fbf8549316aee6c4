/**
 * Returns a kubeconfig with one cluster, one user with a token, and one context with this cluster
 * and user.
 */
export function kubeconfigOf(server: string): string {
  return `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "${server}"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`
}
