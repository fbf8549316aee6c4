import { existsSync } from 'node:fs'
import { ApiException, KubeConfig } from '@kubernetes/client-node'
import { fieldsOrNone, textOf } from '../core/json.ts'
import { firstLineOf, sentenceOf } from '../sentence.ts'
import { messageOf } from '../status-message.ts'
import { UsageError } from './errors.ts'
import { kubeconfigFile, NO_CLUSTER } from './kubeconfig-file.ts'

/** Where the kubelet mounts the token of a pod's service account. */
const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token'

/**
 * Reads the credentials for a cluster: those of the kubeconfig that kubectl would read, else those that every pod has.
 *
 * @throws UsageError naming the file that does not hold, or saying that there is none
 */
export function readKubeConfig(path: string | undefined): KubeConfig {
  const config = new KubeConfig()
  const file = kubeconfigFile(path)
  if (file === undefined && !existsSync(TOKEN)) throw new UsageError(NO_CLUSTER)
  try {
    if (path !== undefined) config.loadFromFile(path)
    else if (file) config.loadFromDefault()
    else config.loadFromCluster()
  } catch (error) {
    throw new UsageError(`${file}: no kubeconfig: ${firstLineOf(error)}`)
  }
  if (config.getCurrentCluster() === null) {
    throw new UsageError(`${file}: its current context names no cluster`)
  }
  return config
}

/** The apiserver's own sentence for what it refused, or the system's for what kept it from being asked. */
export function refusalOf(error: unknown): string {
  if (!(error instanceof ApiException)) return sentenceOf(error)
  // A body is text where the client knows no type for it.
  const { body } = error
  const message = typeof body === 'string' ? messageOf(body) : textOf(fieldsOrNone(body).message)
  return message ?? `the apiserver answered ${error.code}`
}
