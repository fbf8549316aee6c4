import type { Catalog } from '../../core/catalog.ts'
import { type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import type { Admission, FactLookup, WebhookFacts } from '../explain/facts.ts'

/** A DaemonSet that keeps images on nodes. */
export interface Holder {
  readonly images: readonly string[]
  /** Whether at least one ready pod of the DaemonSet runs the current template. */
  readonly isHeld: boolean
  /** The number of nodes on which a pod of the DaemonSet is ready. */
  readonly ready: number
  /** The number of nodes that should run a pod of the DaemonSet. */
  readonly nodes: number
}

/**
 * The catalog in the ConfigMap that the servers mount. `none`: the servers mount no ConfigMap and
 * offer the built-in metrics. `broken`: the ConfigMap is missing or invalid. `whole`: the catalog
 * is valid.
 */
export type Offer =
  | { readonly kind: 'none' }
  | { readonly kind: 'broken'; readonly problem: string }
  | { readonly kind: 'whole'; readonly catalog: Catalog }

/** Returns the catalog of a release; undefined if the catalog is missing, invalid or unread. */
export function readCatalog(release: Release | undefined): Catalog | undefined {
  const offer = release && 'value' in release.offer ? release.offer.value : undefined
  return offer?.kind === 'whole' ? offer.catalog : undefined
}

/**
 * Returns the value of an option that the Deployment passes to `serve` as `--name=value`.
 *
 * @param name the name of the option, with the two dashes
 * @returns undefined if the option is absent or the Deployment was not found or read
 */
export function servedOption(release: Release | undefined, name: string): string | undefined {
  const deployment = release && 'value' in release.deployment ? release.deployment.value : undefined
  return deploymentOption(deployment, name)
}

/** Returns the value of an option that a Deployment passes to `serve`, as in `servedOption`. */
export function deploymentOption(deployment: Fields | undefined, name: string): string | undefined {
  const template = fieldsOrNone(fieldsOrNone(deployment?.spec).template)
  const containers = listOrNone(fieldsOrNone(template.spec).containers).map(fieldsOrNone)
  const words = containers.flatMap(({ args }) => listOrNone(args)).map(String)
  return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
}

/**
 * Returns the images that at least one node is known to have.
 *
 * @returns undefined if no DaemonSet keeps images on nodes, or the DaemonSets could not be read
 */
export function readHeldImages(release: Release | undefined): ReadonlySet<string> | undefined {
  const holders = release && 'value' in release.holders ? release.holders.value : []
  const held = holders.flatMap(({ images, isHeld }) => (isHeld ? images : []))
  return holders.length === 0 ? undefined : new Set(held)
}

/**
 * The objects of the release whose Service the apiserver calls. An object that does not exist is
 * undefined.
 */
export interface Release {
  readonly service: FactLookup<Fields | undefined>
  readonly deployment: FactLookup<Fields | undefined>
  readonly offer: FactLookup<Offer>
  readonly holders: FactLookup<readonly Holder[]>
  /** The ValidatingAdmissionPolicyBinding of the guard. */
  readonly guard: FactLookup<Fields | undefined>
}

/**
 * The dry run of a pod that requests a metric: the namespace, the metric, and the answer of the
 * apiserver.
 */
export interface TriedPod {
  readonly namespace: string
  readonly metric: string
  readonly answer: Admission
}

/** The versions of the programs of Kubernetes. */
export interface Platform {
  /** The object that the apiserver serves at `/version`. */
  readonly version: FactLookup<Fields | undefined>
  readonly nodes: FactLookup<readonly Fields[]>
}

/** All facts about an installation, read from a cluster. */
export interface Installation {
  readonly webhook: WebhookFacts
  /** Undefined if the configuration was not found or read, or names no Service. */
  readonly release: Release | undefined
  /** Undefined if the catalog has no tool that is mounted from its image. */
  readonly platform?: Platform | undefined
  /** All MutatingWebhookConfigurations of the cluster. */
  readonly configurations: FactLookup<readonly Fields[]>
  /** All namespaces of the cluster. */
  readonly namespaces: FactLookup<readonly Fields[]>
  /** A Namespace that requests a metric, as returned by a dry run of its creation. */
  readonly triedNamespace: FactLookup<Fields>
  readonly triedPod: TriedPod
}
