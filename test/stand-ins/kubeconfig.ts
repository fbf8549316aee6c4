/**
 * Returns a kubeconfig with one cluster, one user with a token, and one context with this cluster
 * and user.
 *
 * @param ca the CA certificate of the server, in PEM
 */
export function kubeconfigOf(server: string, ca?: string): string {
  const authority = ca && `, certificate-authority-data: ${Buffer.from(ca).toString('base64')}`
  return `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "${server}"${authority ?? ''}}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`
}
