import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { makeAuthority } from '../../certs/make.ts'
import type { Access } from '../../src/cluster/cluster.ts'
import { freePort } from '../free-ports.ts'
import { NAMES } from '../webhook/server.ts'

/** A stored object. */
export interface Stored {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly resourceVersion: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly generation?: number
    readonly uid?: string
    readonly creationTimestamp?: string
    readonly ownerReferences?: readonly object[]
    readonly managedFields?: readonly object[]
  }
  readonly spec?: unknown
  readonly status?: unknown
  readonly [field: string]: unknown
}

type Unstored = Omit<Stored, 'metadata'> & {
  readonly metadata: Omit<Stored['metadata'], 'resourceVersion'>
  readonly [field: string]: unknown
}

interface Event {
  readonly resource: string
  readonly version: number
  readonly line: string
}

/** Faults that a test can switch on. */
export interface Faults {
  /** If true, watches are accepted but receive no events, as on a half-open connection. */
  mute: boolean
  /** Matches the method and path of requests that never get an answer. */
  hang: RegExp | undefined
  /**
   * Matches the method and path of requests that are refused, with the status code of the answer.
   */
  refuse: readonly [RegExp, number] | undefined
  /** Matches the method and path of requests whose answer is delayed, by this many milliseconds. */
  delay: readonly [RegExp, number] | undefined
  /** Watches that begin before this version get the error "too old resource version". */
  compacted: number
}

/**
 * A simulated kube-apiserver, which produces faults that a real apiserver cannot produce on demand:
 * a silent watch, a 410, an invalid line, a lost event, or a missing answer. The simulation
 * supports list with pages, watch, GET, merge patch and apply over HTTPS. Tests in test/cluster use
 * a real apiserver, without faults.
 */
export class StandIn {
  readonly faults: Faults = {
    mute: false,
    hang: undefined,
    refuse: undefined,
    delay: undefined,
    compacted: 0,
  }
  /** The requests: method, path and query. */
  readonly calls: string[] = []
  /** The time at which each request arrived, by performance.now(). */
  readonly calledAt: number[] = []
  /** The object at /version. */
  serverVersion: object = { major: '1', minor: '36' }
  /** The number of connections that clients have opened. */
  connections = 0
  /** The Authorization header of each request. */
  readonly authorizations: (string | undefined)[] = []
  readonly #objects = new Map<string, Stored>()
  readonly #events: Event[] = []
  readonly #watches = new Map<ServerResponse, string>()
  #version = 100

  /** Stores an object. Sends an event to the watches, unless `isLost` is true. */
  put(resource: string, object: Unstored, isLost = false): Stored {
    this.#version += 1
    const metadata = { ...object.metadata, resourceVersion: `${this.#version}` }
    const stored = { ...object, metadata }
    const key = keyOf(resource, stored)
    const type = this.#objects.has(key) ? 'MODIFIED' : 'ADDED'
    this.#objects.set(key, stored)
    if (!isLost) this.#tell(resource, type, stored)
    return stored
  }

  remove(resource: string, name: string, namespace?: string): void {
    const key = keyOf(resource, { metadata: { name, ...(namespace && { namespace }) } })
    const object = this.#objects.get(key)
    if (object === undefined) throw new Error(`the simulated apiserver has no ${key}`)
    this.#objects.delete(key)
    this.#version += 1
    const metadata = { ...object.metadata, resourceVersion: `${this.#version}` }
    this.#tell(resource, 'DELETED', { ...object, metadata })
  }

  get(resource: string, name: string, namespace?: string): Stored | undefined {
    return this.#objects.get(
      keyOf(resource, { metadata: { name, ...(namespace && { namespace }) } }),
    )
  }

  /** Returns all objects of a resource. */
  all(resource: string): readonly Stored[] {
    return [...this.#objects].flatMap(([key, one]) => (key.startsWith(`${resource}/`) ? [one] : []))
  }

  /** Sends a line to the watches of a resource. */
  say(resource: string, line: string): void {
    for (const [response, watched] of this.#watches) if (watched === resource) response.write(line)
  }

  /** Closes every watch. */
  cut(): void {
    for (const response of this.#watches.keys()) response.destroy()
  }

  /** The number of open watches. */
  get watches(): number {
    return this.#watches.size
  }

  get version(): number {
    return this.#version
  }

  /** Returns the number of requests, also repeated requests, whose method and URL match. */
  count(pattern: RegExp): number {
    return this.calls.filter((call) => pattern.test(call)).length
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request
    const { pathname, searchParams } = new URL(url, 'https://localhost')
    this.calls.push(`${method} ${url}`)
    this.calledAt.push(performance.now())
    this.authorizations.push(request.headers.authorization)
    const fault = this.#faultOf(`${method} ${pathname}`)
    if (fault === 'hang') return
    if (fault) return send(response, fault, { message: 'refused by the test' })
    await this.#delay(`${method} ${pathname}`)
    // The path begins with /api/v1 or, for other groups, with /apis/GROUP/VERSION.
    const [, first = '', name, inner, object] = pathname
      .replace(/^\/(api|apis\/[^/]+)\/[^/]+/, '')
      .split('/')
    if (searchParams.has('watch')) return this.#watch(response, inner ?? first, searchParams)
    if (name === undefined) return send(response, 200, this.#root(first, searchParams))
    if (object !== undefined) return this.#one(request, response, [inner ?? '', object, name])
    if (inner !== undefined) return send(response, 200, this.#list(inner, searchParams, name))
    return this.#one(request, response, [first, name])
  }

  #root(first: string, query: URLSearchParams): object {
    return first === 'version' ? this.serverVersion : this.#list(first, query)
  }

  async #one(
    request: IncomingMessage,
    response: ServerResponse,
    [resource, name, namespace]: readonly [string, string, string?],
  ): Promise<void> {
    const body = await text(request)
    if (request.headers['content-type'] === 'application/apply-patch+yaml')
      return send(response, 201, this.put(resource, JSON.parse(body)))
    const found = this.get(resource, name, namespace)
    if (found === undefined) return send(response, 404, { message: `${name} not found` })
    if (request.method === 'GET') return send(response, 200, found)
    return this.#patch(response, resource, found, body)
  }

  #faultOf(call: string): 'hang' | number | undefined {
    const [refused, status] = this.faults.refuse ?? []
    if (this.faults.hang?.test(call)) return 'hang'
    return refused?.test(call) ? status : undefined
  }

  async #delay(call: string): Promise<void> {
    const [delayed, ms] = this.faults.delay ?? []
    if (delayed?.test(call)) await sleep(ms)
  }

  #patch(response: ServerResponse, resource: string, stored: Stored, patch: string): void {
    const { metadata } = stored
    const { metadata: changed, ...fields } = JSON.parse(patch)
    const { resourceVersion, labels: changes } = changed
    if (resourceVersion !== metadata.resourceVersion) {
      send(response, 409, { message: 'the object has been modified' })
      return
    }
    const labels = mergePatch(metadata.labels, changes ?? {}) as Stored['metadata']['labels']
    const next = Object(mergePatch(stored, fields))
    send(response, 200, this.put(resource, { ...next, metadata: { ...metadata, labels } }))
  }

  #list(resource: string, query: URLSearchParams, namespace?: string) {
    const label = query.get('labelSelector')
    const all = [...this.#objects].flatMap(([key, object]) => {
      const { namespace: own, labels } = object.metadata
      const isWanted = namespace === undefined || own === namespace
      const isSelected = label === null || labels?.[label] !== undefined
      return key.startsWith(`${resource}/`) && isWanted && isSelected ? [object] : []
    })
    const start = Number(query.get('continue') ?? 0)
    const end = start + Number(query.get('limit') ?? all.length)
    const more = end < all.length ? { continue: `${end}` } : {}
    return {
      metadata: { resourceVersion: `${this.#version}`, ...more },
      items: all.slice(start, end),
    }
  }

  #watch(response: ServerResponse, resource: string, query: URLSearchParams): void {
    const from = Number(query.get('resourceVersion'))
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    if (from < this.faults.compacted) {
      const object = { code: 410, message: 'too old resource version' }
      response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`)
      return
    }
    this.#watches.set(response, resource)
    response.on('close', () => this.#watches.delete(response))
    const end = () => response.end()
    const timer = setTimeout(end, Number(query.get('timeoutSeconds')) * 1000)
    response.on('close', () => clearTimeout(timer))
    for (const event of this.#events) {
      const isNew = event.resource === resource && event.version > from
      if (isNew && !this.faults.mute) response.write(event.line)
    }
  }

  #tell(resource: string, type: string, object: Stored): void {
    const line = `${JSON.stringify({ type, object })}\n`
    this.#events.push({ resource, version: Number(object.metadata.resourceVersion), line })
    if (!this.faults.mute) this.say(resource, line)
  }
}

/** Applies a JSON merge patch (RFC 7396): null removes a field, and a list replaces a list. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const merged: Record<string, unknown> = { ...Object(target) }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else merged[key] = mergePatch(merged[key], value)
  }
  return merged
}

function keyOf(
  resource: string,
  { metadata }: { readonly metadata: { readonly name: string; readonly namespace?: string } },
): string {
  return `${resource}/${metadata.namespace ?? ''}/${metadata.name}`
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const authority = await makeAuthority()
const pair = await authority.issue({ names: NAMES })

/** Starts a simulated apiserver, which keeps its port when it is stopped and restarted. */
export async function startStandIn(t: Test) {
  const standIn = new StandIn()
  const port = await freePort()
  const start = async () => {
    const server = createServer(pair, (request, response) => {
      standIn.answer(request, response).catch((error) => response.destroy(error))
    })
    server.on('secureConnection', () => {
      standIn.connections += 1
    })
    await once(server.listen(port, '127.0.0.1'), 'listening')
    return server
  }
  let server = await start()
  const stop = async () => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  t.teardown(stop)
  const restart = async () => {
    server = await start()
  }
  const { ca } = authority
  const url = `https://127.0.0.1:${port}`
  const access: Access = { server: url, credentials: async () => ({ ca, agent: false }) }
  return { standIn, access, ca, port, stop, restart }
}
