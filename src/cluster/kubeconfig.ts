import type { RequestOptions } from 'node:https'
import { delimiter } from 'node:path'
import type { KubeConfig } from '@kubernetes/client-node'
import { firstErrorLine } from '../lib/error-message.ts'
import type { Cluster } from './cluster.ts'

/**
 * Reads one kubeconfig, or the several files that KUBECONFIG can name, as kubectl does: with client
 * certificates, tokens, credential plugins and proxies. client-node takes half a second to load,
 * and is loaded only here.
 *
 * @param context the context to use instead of the current one
 * @throws an error that names the invalid file
 */
export async function readKubeconfig(
  files: readonly string[],
  context: string | undefined,
): Promise<Cluster> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const source = files.join(delimiter)
  const [found = new KubeConfig(), ...others] = files.map((file) => load(new KubeConfig(), file))
  for (const other of others) merge(found, other)
  if (context !== undefined) choose(found, context, source)
  const { server, proxyUrl } = found.getCurrentCluster() ?? {}
  if (!server) throw new Error(`${source}: the current context names no cluster`)
  const namespace = found.getContextObject(found.getCurrentContext())?.namespace || undefined
  const credentials = () => readCredentials(found, proxyUrl !== undefined)
  return { server, source, namespace, credentials }
}

function load(config: KubeConfig, path: string): KubeConfig {
  try {
    config.loadFromFile(path)
    return config
  } catch (error) {
    throw new Error(`${path}: cannot be read as a kubeconfig: ${firstErrorLine(error)}`)
  }
}

/**
 * Merges two kubeconfigs; the first definition of a name is used (client-go
 * tools/clientcmd/loader.go). By default the library uses the last current-context, and throws if
 * two files define the same name.
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
 * Reads the current credentials. The library's own agent is only used with a proxy, because it
 * keeps the CA and the client certificate of the first request.
 */
async function readCredentials(config: KubeConfig, hasProxy: boolean): Promise<RequestOptions> {
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  return hasProxy ? options : { ...options, agent: false }
}
