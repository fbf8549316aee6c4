/**
 * Returns a kubeconfig with one cluster, one user with a token, and one context with this cluster
 * and user.
 *
 * @param server the URL of the server
 * @param ca the CA certificate of the server, in PEM
 * @param options the token of the user, and the namespace of the context
 */
export function kubeconfigOf(
  server: string,
  ca?: string,
  { token = 't', namespace }: { readonly token?: string; readonly namespace?: string } = {},
): string {
  const authority = ca && `, certificate-authority-data: ${Buffer.from(ca).toString('base64')}`
  const place = namespace && `, namespace: ${namespace}`
  return `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "${server}"${authority ?? ''}}}]
users: [{name: u, user: {token: ${token}}}]
contexts: [{name: x, context: {cluster: c, user: u${place ?? ''}}}]
current-context: x
`
}
