import { existsSync } from 'node:fs'
import type { KubeConfig } from '@kubernetes/client-node'
import { firstLineOf } from '../sentence.ts'

export interface ClusterOptions {
  readonly kubeconfig?: string
  readonly context?: string
  readonly namespace?: string
}

export interface Cluster {
  readonly config: KubeConfig
  /** The namespace that was named, or that of the context, or `default`. */
  readonly namespace: string
}

/**
 * Finds the cluster as kubectl does: --kubeconfig, KUBECONFIG, ~/.kube/config, the pod that this
 * runs in. client-node takes half a second to load, which verbs without a cluster must not pay.
 *
 * @throws an error that names the file and what is wrong with it
 */
export async function findCluster(options: ClusterOptions): Promise<Cluster> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  load(config, options.kubeconfig)
  if (options.context !== undefined) choose(config, options.context)
  if (!config.getCurrentCluster()?.server)
    throw new Error('the kubeconfig names no cluster: set a current context, or use --context')
  const named = config.getContextObject(config.getCurrentContext())?.namespace
  return { config, namespace: options.namespace ?? named ?? 'default' }
}

function load(config: KubeConfig, file: string | undefined): void {
  if (file !== undefined && !existsSync(file))
    throw new Error(`cannot read ${file}: there is no such file`)
  try {
    if (file === undefined) config.loadFromDefault()
    else config.loadFromFile(file)
  } catch (error) {
    throw new Error(`cannot use ${file ?? 'the kubeconfig'}: ${firstLineOf(error)}`)
  }
}

function choose(config: KubeConfig, context: string): void {
  const known = config.getContexts().map(({ name }) => name)
  if (!known.includes(context))
    throw new Error(`the kubeconfig has no context ${context}; it has ${known.join(', ')}`)
  config.setCurrentContext(context)
}
