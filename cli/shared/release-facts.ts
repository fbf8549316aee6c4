import { POLICY_BINDINGS } from '../../src/cluster/paths.ts'
import { readDaemonSet, runsAnywhere } from '../../src/core/kubernetes/daemon-set.ts'
import { asId, type Fields, fieldsOrNone } from '../../src/core/kubernetes/json.ts'
import type { Holder, Release } from '../../src/pods/doctor/installation.ts'
import type { FactLookup, WebhookFacts } from '../../src/pods/explain/facts.ts'
import { calledBy, POD_WEBHOOK, webhookIn } from '../../src/pods/explain/webhook.ts'
import { resolveOffer } from './catalogs/release-catalog.ts'
import { listed, type Reader } from './reader.ts'

/**
 * Reads the objects of the release to which the Service of a webhook configuration belongs. The
 * Deployment has the same name as the Service. The guard is a policy that warns about pods without
 * observers; its binding has the name SERVICE-guard.
 *
 * @returns undefined if the configuration was not found or read, or names no Service
 */
export async function readRelease(
  reader: Reader,
  { configuration }: WebhookFacts,
): Promise<Release | undefined> {
  const found = 'value' in configuration ? configuration.value : undefined
  const webhook = found && webhookIn(found, POD_WEBHOOK)
  const { service } = webhook ? calledBy(webhook) : { service: undefined }
  if (service === undefined) return undefined
  const { name, namespace } = service
  const of = (root: string) => `${root}/namespaces/${namespace}`
  const [calledService, deployment, holders, guard] = await Promise.all([
    reader.look(`${of('/api/v1')}/services/${name}`),
    reader.look(`${of('/apis/apps/v1')}/deployments/${name}`),
    reader.look(`${of('/apis/apps/v1')}/daemonsets`),
    reader.look(`${POLICY_BINDINGS}/${name}-guard`),
  ])
  const offer = await resolveOffer(reader, of('/api/v1'), deployment)
  return { service: calledService, deployment, offer, holders: holdersIn(holders), guard }
}

function holdersIn(list: FactLookup<Fields | undefined>): FactLookup<readonly Holder[]> {
  const all = listed(list)
  if ('problem' in all) return all
  const ours = all.value.filter(({ metadata }) => {
    return fieldsOrNone(fieldsOrNone(metadata).labels)['ridealong.dev/image'] !== undefined
  })
  return { value: ours.map(readHolder) }
}

function readHolder(daemonSet: Fields): Holder {
  const { numberReady, desiredNumberScheduled } = fieldsOrNone(daemonSet.status)
  const held = readDaemonSet(daemonSet)
  return {
    images: held.images,
    isHeld: runsAnywhere(held),
    ready: asId(numberReady) ?? 0,
    nodes: asId(desiredNumberScheduled) ?? 0,
  }
}
