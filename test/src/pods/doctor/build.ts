import { makeAuthority } from '../../../../certs/make.ts'
import { type Catalog, imagesOf } from '../../../../src/core/catalog.ts'
import type { Installation, Release } from '../../../../src/pods/doctor/installation.ts'
import { askingPod } from '../../../../src/pods/doctor/probe.ts'
import type { WebhookFacts } from '../../../../src/pods/explain/facts.ts'
import { CATALOG, type Json, ride } from '../../core/build.ts'
import { configuration, NOW } from '../explain/build.ts'

export const HOST = 'ridealong.ridealong-system.svc'
const SERVICE = { service: { name: 'ridealong', namespace: 'ridealong-system' } }
export const IMAGE = 'registry.example/observer:1'

export const authority = await makeAuthority()
const { cert } = await authority.issue({ names: [HOST], days: 90 })
export const other = await makeAuthority()
export const elsewhere = await authority.issue({ names: ['elsewhere.example'], days: 90 })

/** Returns the chart's configuration. `change` can change each webhook. */
export function configured(
  ca: string,
  change: (webhook: Json) => Json = (webhook) => webhook,
): Json {
  const labels = { 'app.kubernetes.io/instance': 'ridealong', 'app.kubernetes.io/version': '0.1.0' }
  const { webhooks, ...rest } = configuration(ca, SERVICE) as { webhooks: Json[] }
  const all = webhooks.map((webhook) => change({ ...webhook, timeoutSeconds: 3 }))
  return { ...rest, metadata: { name: 'ridealong', labels }, webhooks: all }
}

export function deployment(status: Json): Json {
  const metadata = { name: 'ridealong', namespace: 'ridealong-system', generation: 2 }
  return { metadata, spec: { replicas: 2 }, status }
}

/** The catalog with only the metrics whose images are in a list. */
export function offering(...images: readonly string[]): Catalog {
  const metrics = [...CATALOG.metrics].filter(([, metric]) => {
    return imagesOf(metric).every((image) => images.includes(image))
  })
  return { ...CATALOG, metrics: new Map(metrics) }
}

export const OFFERED = offering(IMAGE)
export const TOOL_IMAGE = 'registry.example/cpu-profile:1'

export const ready = { observedGeneration: 2, readyReplicas: 2, updatedReplicas: 2 }
export const forbidden = { problem: 'the apiserver says 403: User "a" cannot list resource "b"' }

export function namespace(name: string, annotations: Json = {}, labels: Json = {}): Json {
  return {
    metadata: { name, annotations, labels: { ...labels, 'kubernetes.io/metadata.name': name } },
  }
}

export const ASKS = { 'ridealong.dev/inject': 'perf-sysstat' }
export const ARMED = { 'ridealong.dev/armed': 'true' }

/** A pod that requests perf-sysstat, with the observer that the webhook adds. */
export const INJECTED = ride(askingPod('perf-sysstat')).pod as unknown as Json

export const WELL: Installation = {
  webhook: {
    now: NOW,
    configuration: { value: configured(authority.ca) },
    serving: { value: cert },
    ready: { value: 2 },
  },
  release: {
    service: { value: {} },
    deployment: { value: deployment(ready) },
    offer: { value: { kind: 'whole', catalog: OFFERED } },
    holders: { value: [{ images: [IMAGE], isHeld: true, ready: 3, nodes: 3 }] },
    guard: { value: { spec: { validationActions: ['Warn', 'Audit'] } } },
  },
  configurations: { value: [configured(authority.ca)] },
  namespaces: { value: [namespace('default'), namespace('hpc', ASKS, ARMED)] },
  triedNamespace: { value: namespace('ridealong-doctor-x', ASKS, ARMED) },
  triedPod: {
    namespace: 'default',
    metric: 'perf-sysstat',
    answer: { outcome: 'admitted', pod: INJECTED },
  },
}

export const withWebhook = (change: Partial<WebhookFacts>): Installation => ({
  ...WELL,
  webhook: { ...WELL.webhook, ...change },
})
export const withRelease = (change: Partial<Release>): Installation => ({
  ...WELL,
  release: { ...(WELL.release as Release), ...change },
})
export const withPod = (answer: Installation['triedPod']['answer']): Installation => ({
  ...WELL,
  triedPod: { ...WELL.triedPod, answer },
})

export const LEFT = {
  ...askingPod('perf-sysstat'),
  metadata: {
    annotations: {
      ...ASKS,
      'ridealong.dev/status': JSON.stringify({
        outcome: 'left',
        reason: 'observer-unavailable',
        message: `no node is known to have ${IMAGE}`,
      }),
    },
  },
}

export const revision = (name: string) => ({ 'ridealong.dev/revision': name })

/** Returns the metadata of a release's configuration, with one of its webhooks. */
export function released(name: string, of?: string): Json {
  const labels = of === undefined ? {} : revision(of)
  return { metadata: { name, labels }, webhooks: [{ name: 'pods.ridealong.dev' }] }
}
