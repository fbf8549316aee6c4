import type { Catalog } from '../core/catalog.ts'
import { type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import type { FactLookup, WebhookFacts } from '../explain/facts.ts'

/** A DaemonSet that keeps an image on nodes. */
export interface Holder {
  readonly images: readonly string[]
  /** Whether one of its pods, at least, runs what its template says now. */
  readonly isHeld: boolean
  /** Nodes on which its pod is ready, and nodes that are to have one. */
  readonly ready: number
  readonly nodes: number
}

/** The metrics of the ConfigMap that servers mount. `none`: they mount none, and offer the built-in ones. */
export type Offer =
  | { readonly kind: 'none' }
  | { readonly kind: 'broken'; readonly problem: string }
  | { readonly kind: 'whole'; readonly catalog: Catalog }

/** The catalog of a release, where there is one that holds. */
export function readCatalog(release: Release | undefined): Catalog | undefined {
  const offer = release && 'value' in release.offer ? release.offer.value : undefined
  return offer?.kind === 'whole' ? offer.catalog : undefined
}

/**
 * The value of an option that the Deployment gives to `serve`, written as `--name=value`.
 *
 * @returns undefined where the option is absent, or where the Deployment is not known
 */
export function servedOption(release: Release | undefined, name: string): string | undefined {
  const deployment = release && 'value' in release.deployment ? release.deployment.value : undefined
  const template = fieldsOrNone(fieldsOrNone(deployment?.spec).template)
  const containers = listOrNone(fieldsOrNone(template.spec).containers).map(fieldsOrNone)
  const words = containers.flatMap(({ args }) => listOrNone(args)).map(String)
  return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** The images that nodes are known to hold; undefined where nothing keeps them there, or nobody may know. */
export function readHeldImages(release: Release | undefined): ReadonlySet<string> | undefined {
  const holders = release && 'value' in release.holders ? release.holders.value : []
  const held = holders.flatMap(({ images, isHeld }) => (isHeld ? images : []))
  return holders.length === 0 ? undefined : new Set(held)
}

/** What the chart installs around the Service that the apiserver calls. An object that is not there is undefined. */
export interface Release {
  readonly service: FactLookup<Fields | undefined>
  readonly deployment: FactLookup<Fields | undefined>
  readonly offer: FactLookup<Offer>
  readonly holders: FactLookup<readonly Holder[]>
  /** The ValidatingAdmissionPolicyBinding of the guard. */
  readonly guard: FactLookup<Fields | undefined>
}

/** What a pod that asks was tried with, and as what it came back. */
export interface TriedPod {
  readonly namespace: string
  readonly metric: string
  readonly answer: FactLookup<Fields>
}

/** All that a cluster says of an installation. */
export interface Installation {
  readonly webhook: WebhookFacts
  /** Nothing where the configuration names no Service. */
  readonly release: Release | undefined
  /** All that there are. */
  readonly namespaces: FactLookup<readonly Fields[]>
  /** A Namespace that asks, as a dry run of its creation came back. */
  readonly triedNamespace: FactLookup<Fields>
  readonly triedPod: TriedPod
}
