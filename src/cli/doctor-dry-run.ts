import { CoreV1Api, type KubeConfig } from '@kubernetes/client-node'
import { type Fields, fieldsOrNone } from '../core/json.ts'
import { askingNamespace, askingPod } from '../doctor/probe.ts'
import type { Asked } from '../explain/facts.ts'
import { refusalOf } from './kubeconfig.ts'

/** Where things are tried and not kept. */
export interface DryRun {
  readonly config: KubeConfig
  /** Of the pod. */
  readonly namespace: string
}

/** A Namespace that asks, as the apiserver would store it. */
export function tryNamespace({ config }: DryRun, metric: string): Promise<Asked<Fields>> {
  const body = askingNamespace(metric)
  return answered(config.makeApiClient(CoreV1Api).createNamespace({ body, dryRun: 'All' }))
}

/** A pod that asks, as the apiserver would store it. */
export function tryPod({ config, namespace }: DryRun, metric: string): Promise<Asked<Fields>> {
  const body = askingPod(metric)
  const api = config.makeApiClient(CoreV1Api)
  return answered(api.createNamespacedPod({ namespace, body, dryRun: 'All' }))
}

async function answered(answer: Promise<unknown>): Promise<Asked<Fields>> {
  try {
    return { value: fieldsOrNone(await answer) }
  } catch (error) {
    return { problem: refusalOf(error) }
  }
}
