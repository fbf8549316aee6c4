import { readFile } from 'node:fs/promises'
import type { RequestOptions } from 'node:https'
import { delimiter, dirname } from 'node:path'
import type { KubeConfig, User } from '@kubernetes/client-node'
import { firstErrorLine } from '../lib/error-message.ts'
import type { Cluster } from './cluster.ts'

/**
 * Reads one or several kubeconfigs. As in kubectl, credentials can be client certificates, tokens
 * and credential plugins, and proxies are supported. client-node is imported only when a kubeconfig
 * is read, because loading it is slow.
 *
 * @param context the context to use instead of the current context
 * @throws an error that names the invalid file
 */
export async function readKubeconfig(
  files: readonly string[],
  context: string | undefined,
): Promise<Cluster> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const source = files.join(delimiter)
  const loaded = await Promise.all(files.map((file) => load(new KubeConfig(), file)))
  const [found = new KubeConfig(), ...others] = loaded
  found.addAuthenticator(TOKEN_FILES)
  for (const other of others) merge(found, other)
  if (context !== undefined) choose(found, context, source)
  const { server, proxyUrl } = found.getCurrentCluster() ?? {}
  if (!server) throw new Error(`${source}: the current context names no cluster`)
  const namespace = found.getContextObject(found.getCurrentContext())?.namespace || undefined
  const credentials = () => readCredentials(found, proxyUrl !== undefined)
  return { server, source, namespace, credentials }
}

async function load(config: KubeConfig, path: string): Promise<KubeConfig> {
  try {
    config.loadFromFile(path)
    for (const { authProvider } of config.users) parseIssuer(authProvider)
    await useTokenFiles(config, await readFile(path, 'utf8'), dirname(path))
    return config
  } catch (error) {
    throw new Error(`${path}: cannot be read as a kubeconfig: ${firstErrorLine(error)}`)
  }
}

/**
 * Makes the users of a kubeconfig read their tokens from files, if it names any. client-node 2.0.1
 * does not read the field `tokenFile` (client-go, tools/clientcmd/api/v1/types.go).
 */
async function useTokenFiles(config: KubeConfig, text: string, folder: string): Promise<void> {
  if (!text.includes('tokenFile')) return
  const { findTokenFiles } = await import('./token-files.ts')
  const files = findTokenFiles(text, folder)
  config.users = config.users.map((user) => withTokenFile(user, files.get(user.name)))
}

/** The name, for client-node, of the users whose tokens are in files. */
const IN_FILE = 'token-in-file'

/** The token of a file is used in place of the other token of a user. */
function withTokenFile(user: User, file: string | undefined): User {
  if (file === undefined) return user
  const { token: _, ...others } = user
  return { ...others, authProvider: { name: IN_FILE, config: { file } } }
}

/** Reads the file of a user's token before each request, because tokens are renewed. */
const TOKEN_FILES: Parameters<KubeConfig['addAuthenticator']>[0] = {
  isAuthProvider: ({ authProvider }) => authProvider?.name === IN_FILE,
  applyAuthentication: async ({ authProvider }, options) => {
    const token = (await readFile(authProvider.config.file, 'utf8')).trim()
    options.headers = { ...options.headers, Authorization: `Bearer ${token}` }
  },
}

/**
 * Parses the address of an OpenID provider. client-node 2.0.1 gives the text to openid-client,
 * which only accepts a URL when it renews a token (kubernetes-client/javascript #2202).
 */
function parseIssuer(provider: User['authProvider']): void {
  const { name, config } = provider ?? {}
  const address = config?.['idp-issuer-url']
  if (name === 'oidc' && address) config['idp-issuer-url'] = new URL(address)
}

/**
 * Merges two kubeconfigs. The first definition of a name is used, as in kubectl (client-go
 * tools/clientcmd/loader.go). By default, client-node would use the last current-context, and would
 * throw an error if two files define the same name.
 */
function merge(found: KubeConfig, other: KubeConfig): void {
  const isNew = (
    { name }: { readonly name: string },
    known: readonly { readonly name: string }[],
  ) => known.every((one) => one.name !== name)
  other.clusters = other.clusters.filter((cluster) => isNew(cluster, found.clusters))
  other.users = other.users.filter((user) => isNew(user, found.users))
  other.contexts = other.contexts.filter((context) => isNew(context, found.contexts))
  found.mergeConfig(other, Boolean(found.getCurrentContext()))
}

function choose(config: KubeConfig, context: string, source: string): void {
  const known = config.getContexts().map(({ name }) => name)
  if (!known.includes(context))
    throw new Error(`${source} has no context ${context}; its contexts are ${known.join(', ')}`)
  config.setCurrentContext(context)
}

/**
 * Reads the current credentials. The agent of client-node keeps the CA and the client certificate
 * of the first request, and is therefore used only with a proxy.
 */
async function readCredentials(config: KubeConfig, hasProxy: boolean): Promise<RequestOptions> {
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  return hasProxy ? options : { ...options, agent: false }
}
