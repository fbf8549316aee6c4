import type { ClusterName } from '../../src/cluster/access.ts'
import { EXCLUDED_NAMESPACES } from '../../src/core/kubernetes/namespace-name.ts'
import { type Requirement, readSelector } from '../../src/pods/recording/label-selector.ts'
import { UsageError } from '../shared/errors.ts'

export interface RecordOptions extends ClusterName {
  readonly url: string
  readonly namespace?: readonly string[]
  readonly selector?: string
  readonly count?: number
  /** Seconds. */
  readonly timeout?: number
  readonly host: string
  readonly port?: number
  readonly name: string
  readonly force?: boolean
}

/** The address at which the apiserver reaches a recorder. */
export interface Address {
  /** The URL without a path. */
  readonly url: string
  /** A DNS name or an IP address, for the certificate. */
  readonly host: string
  readonly port: number
}

/**
 * Parses a URL.
 *
 * @throws UsageError with the valid form
 */
export function readAddress(text: string): Address {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url?.href === `${url?.origin}/`
  if (url?.protocol !== 'https:' || !isPlain) {
    throw new UsageError(`--url ${text} is not https://HOST:PORT`)
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return { url: url.origin, host, port: Number(url.port || 443) }
}

/**
 * Validates the namespaces to record in.
 *
 * @throws UsageError for a namespace that never gets observers
 */
export function readNamespaces(namespaces: readonly string[]): readonly string[] {
  const excluded = namespaces.find((name) => EXCLUDED_NAMESPACES.includes(name))
  if (excluded === undefined) return namespaces
  throw new UsageError(
    `--namespace ${excluded}: pods in the namespaces of Kubernetes itself are not recorded`,
  )
}

/**
 * Parses a label selector. Without a selector, there are no requirements.
 *
 * @throws UsageError with the part that is not a requirement
 */
export function readLabels(selector: string | undefined): readonly Requirement[] {
  const requirements = selector === undefined ? [] : readSelector(selector)
  if (!('problem' in requirements)) return requirements
  const example = 'app=web,tier!=db,run in (a,b),!legacy'
  throw new UsageError(
    `--selector: "${requirements.problem}" is not a requirement; an example is ${example}`,
  )
}
