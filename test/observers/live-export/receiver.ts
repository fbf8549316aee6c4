import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { loadCatalog } from '../../../src/catalog/load.ts'
import type { Catalog, LiveExport } from '../../../src/core/catalog.ts'
import { exportOf } from '../../../src/core/rules/exported-columns.ts'

/** A point that a receiver got. */
export interface Point {
  readonly name: string
  readonly unit: string
  readonly kind: 'counter' | 'gauge'
  /** The attributes of the resource and of the point. */
  readonly resource: Attributes
  readonly attributes: Attributes
  readonly value: number
  /** Nanoseconds since 1970. */
  readonly time: bigint
  readonly start: bigint | undefined
}

type Attributes = Readonly<Record<string, string | number>>

/** How a receiver answers. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A receiver of OTLP over HTTP, as JSON. */
export interface Receiver {
  /** The endpoint for the settings. */
  readonly endpoint: string
  /** The number of requests whose body has arrived. */
  requests(): number
  /** The points of all requests, in the order of arrival. */
  points(): readonly Point[]
  /** The headers of the last request. */
  headers(): IncomingMessage['headers']
  close(): Promise<void>
}

export const ACCEPT: Answer = (_, response) => {
  response.setHeader('Content-Type', 'application/json').end('{"partialSuccess":{}}')
}

/** Starts a receiver that ends when the test ends. */
export async function receive(t: Test, answer: Answer = ACCEPT, port = 0): Promise<Receiver> {
  const bodies: string[] = []
  let headers: IncomingMessage['headers'] = {}
  const server = createServer((request, response) => {
    const take = (body: string) => {
      headers = request.headers
      t.equal(`${request.method} ${request.url}`, 'POST /otlp/v1/metrics')
      bodies.push(body)
      answer(request, response)
    }
    // A pusher that is killed leaves half a request behind.
    text(request).then(take, () => undefined)
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const close = async () => {
    server.closeAllConnections()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  t.teardown(close)
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/otlp`,
    requests: () => bodies.length,
    points: () => bodies.flatMap(pointsOf),
    headers: () => headers,
    close,
  }
}

/** The points of a request, by the JSON mapping of OTLP (opentelemetry-proto, metrics.proto). */
function pointsOf(body: string): readonly Point[] {
  const { resourceMetrics } = JSON.parse(body) as { resourceMetrics: readonly ResourceMetrics[] }
  return resourceMetrics.flatMap(({ resource, scopeMetrics }) => {
    const attributes = attributesOf(resource.attributes)
    const metrics = scopeMetrics.flatMap((scope) => scope.metrics)
    return metrics.flatMap((metric) => pointsIn(metric, attributes))
  })
}

function pointsIn({ name, unit, sum, gauge }: Metric, resource: Attributes): readonly Point[] {
  const kind = isCounter(sum) ? 'counter' : 'gauge'
  const { dataPoints = [] } = sum ?? gauge ?? {}
  return dataPoints.map((point) => ({
    name,
    unit,
    kind,
    resource,
    attributes: attributesOf(point.attributes),
    value: point.asDouble,
    time: BigInt(point.timeUnixNano),
    start: point.startTimeUnixNano === undefined ? undefined : BigInt(point.startTimeUnixNano),
  }))
}

interface ResourceMetrics {
  readonly resource: { readonly attributes: readonly Attribute[] }
  readonly scopeMetrics: readonly { readonly metrics: readonly Metric[] }[]
}

interface Metric {
  readonly name: string
  readonly unit: string
  readonly sum?: Sum
  readonly gauge?: { readonly dataPoints: readonly DataPoint[] }
}

interface Sum {
  readonly aggregationTemporality: number
  readonly isMonotonic: boolean
  readonly dataPoints: readonly DataPoint[]
}

interface DataPoint {
  readonly attributes: readonly Attribute[]
  readonly startTimeUnixNano?: string
  readonly timeUnixNano: string
  readonly asDouble: number
}

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: string }
}

/** @throws if a sum is not cumulative (AGGREGATION_TEMPORALITY_CUMULATIVE is 2) and monotonic */
function isCounter(sum: Sum | undefined): boolean {
  if (sum === undefined) return false
  const { aggregationTemporality, isMonotonic } = sum
  if (aggregationTemporality === 2 && isMonotonic) return true
  throw new Error(`the sum is not a cumulative counter: ${JSON.stringify(sum)}`)
}

function attributesOf(list: readonly Attribute[]): Attributes {
  return Object.fromEntries(
    list.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
  )
}

/** Returns a catalog whose metrics all have a live export with these settings. */
export function exporting({ metrics, ...rest }: Catalog, liveExport: LiveExport): Catalog {
  const own = [...metrics].map(([name, metric]) => [name, { ...metric, liveExport }] as const)
  return { ...rest, metrics: new Map(own) }
}

/**
 * Returns the variables of the live export that the observers of a pod with these metrics get, by
 * the metric.
 */
export function variablesOf(
  names: readonly string[],
  catalog: Catalog,
): ReadonlyMap<string, Readonly<Record<string, string>>> {
  const chosen = names.flatMap((name) => catalog.metrics.get(name) ?? [])
  const observers = chosen.map((metric) => ({ metric }))
  const exported = exportOf({ spec: {} } as never, { observers, present: [] } as never, catalog)
  return new Map(
    chosen.map((metric) => {
      const env = exported(metric).map(({ name, value }) => [name, value ?? 'uid-of-the-pod'])
      return [metric.name, Object.fromEntries(env)]
    }),
  )
}

/** Returns the variables of the live export of an observer that is the only one in its pod. */
export async function exportTo(
  metric: string,
  settings: LiveExport,
  folder?: string,
): Promise<NodeJS.ProcessEnv> {
  const catalog = exporting(await loadCatalog({ folder }), settings)
  return { ...variablesOf([metric], catalog).get(metric) }
}
