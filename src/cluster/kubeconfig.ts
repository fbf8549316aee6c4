import type { RequestOptions } from 'node:https'
import { delimiter } from 'node:path'
import type { KubeConfig } from '@kubernetes/client-node'
import { firstLineOf } from '../sentence.ts'
import type { Access } from './access.ts'

/**
 * Reads a kubeconfig, or the several that KUBECONFIG can name, as kubectl does: with client
 * certificates, tokens, plugins that bring them, and proxies.
 *
 * @throws an error that names the file which does not hold
 */
export async function readKubeconfig(path: string): Promise<Access> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const found = new KubeConfig()
  const [first = path, ...others] = path.split(delimiter).filter((file) => file !== '')
  load(found, first)
  for (const file of others) {
    const other = new KubeConfig()
    load(other, file)
    found.mergeConfig(other)
  }
  const { server, proxyUrl } = found.getCurrentCluster() ?? {}
  if (server === undefined) throw new Error(`${path} names no cluster as its current context`)
  if (!server.startsWith('https://')) throw new Error(`${path}: ${server} must begin with https://`)
  return { server, credentials: () => credentialsOf(found, proxyUrl !== undefined) }
}

function load(config: KubeConfig, path: string): void {
  try {
    config.loadFromFile(path)
  } catch (error) {
    throw new Error(`${path} holds no kubeconfig: ${firstLineOf(error)}`)
  }
}

/** The library's own agent keeps the authority and the certificate of the first call. */
async function credentialsOf(config: KubeConfig, hasProxy: boolean): Promise<RequestOptions> {
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  return hasProxy ? options : { ...options, agent: false }
}
