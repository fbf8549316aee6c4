import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Cluster } from '../machine/cluster.ts'
import { IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { run, tools } from '../machine/tools.ts'

export const CHART = fileURLToPath(new URL('../../../charts/ridealong', import.meta.url))

const tagOf = (image: string) => image.split(':').at(-1)

/** Values that select the images on the cluster's node. */
export const OWN_OBSERVER = `observer.image.tag=${tagOf(IMAGES.observer)}`
export const OWN_IMAGES = ['--set', `image.tag=${tagOf(IMAGES.webhook)},${OWN_OBSERVER}`]

/** A release of the chart in a cluster. Its namespace has the same name. */
export interface Release {
  readonly cluster: Cluster
  readonly name: string
}

export type Helm = 'helm-4' | 'helm-3'

/** Returns the name of the webhook configuration that the chart gives a release. */
export function configurationName(release: string): string {
  return `zz-${release}`
}

/** The flag for a release that is not expected to become ready. */
export const NO_WAIT = '--wait=hookOnly'

/** Runs `helm VERB NAME WORDS`, and waits until the objects are ready unless NO_WAIT is given. */
export async function helm(
  { cluster, name }: Release,
  verb: 'install' | 'upgrade' | 'rollback' | 'uninstall' | 'test',
  words: readonly string[] = [],
  program: Helm = 'helm-4',
): Promise<string> {
  const path = join(await tools(program, () => {}), 'helm')
  const waits = verb === 'test' || words.includes(NO_WAIT) ? [] : ['--wait']
  return run(path, [
    ...[verb, name, ...words, '--namespace', name, '--kubeconfig', cluster.kubeconfig],
    ...[...waits, '--timeout', '10m'],
  ])
}

/** A replica of the webhook. */
export interface Replica {
  readonly name: string
  readonly address: string
  readonly containerId: string
  readonly restarts: number
  readonly isReady: boolean
}

/** Lists the pods of the webhook, including pods that are starting or ending. */
export async function replicasOf({ cluster, name }: Release): Promise<readonly Replica[]> {
  const selector = `app.kubernetes.io/instance=${name},app.kubernetes.io/component=webhook`
  const words = ['get', 'pods', '-n', name, '-l', selector, '-o', 'json']
  const { items } = JSON.parse(await kubectl(cluster, words))
  // biome-ignore lint/suspicious/noExplicitAny: a Pod as the apiserver serves it.
  return items.map(({ metadata, status }: any) => {
    const [container] = status.containerStatuses ?? []
    return {
      name: metadata.name,
      address: status.podIP ?? '',
      containerId: container?.containerID?.split('//').at(-1) ?? '',
      restarts: container?.restartCount ?? 0,
      isReady: container?.ready ?? false,
    }
  })
}

/** Reads the Prometheus metrics of a replica. */
export async function metricsOf({ address }: Replica): Promise<string> {
  return (await fetch(`http://${address}:8080/metrics`)).text()
}
