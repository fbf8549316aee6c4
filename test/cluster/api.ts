import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Cluster } from './machine/cluster.ts'
import { kubectl } from './machine/kubectl.ts'

/** The response of the apiserver to a request. */
export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: an object of the kind that the test requests.
  readonly body: any
  /** The warnings in the response, as kubectl prints them. */
  readonly warnings: readonly string[]
}

/** A client of the apiserver with the rights of an administrator. */
export interface Api {
  get(path: string): Promise<Answer>
  post(path: string, object: unknown): Promise<Answer>
  /** Applies a JSON merge patch. */
  merge(path: string, patch: unknown): Promise<Answer>
  delete(path: string): Promise<Answer>
  close(): void
}

/** The apiserver closes idle connections after 90 s. This client closes them much earlier. */
const IDLE_MS = 30_000

/**
 * Opens a client of a cluster's apiserver, with as many connections as there are parallel calls.
 */
export async function openApi(cluster: Cluster): Promise<Api> {
  const view = ['config', 'view', '-o', 'jsonpath={.clusters[0].cluster.server}']
  const server = new URL(await kubectl(cluster, view))
  const pki = (name: string) => readFileSync(join(cluster.folder, 'pki', name))
  const [ca, cert, key] = [pki('ca.crt'), pki('admin.crt'), pki('admin.key')]
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS, ca, cert, key })
  const call = (method: string, path: string, object?: unknown, type = 'application/json') =>
    send({ agent, host: server.hostname, port: server.port, method, path }, object, type)
  return {
    get: (path) => call('GET', path),
    post: (path, object) => call('POST', path, object),
    merge: (path, patch) => call('PATCH', path, patch, 'application/merge-patch+json'),
    delete: (path) => call('DELETE', path),
    close: () => agent.destroy(),
  }
}

interface Where {
  readonly agent: Agent
  readonly host: string
  readonly port: string
  readonly method: string
  readonly path: string
}

function send(where: Where, object: unknown, type: string): Promise<Answer> {
  const body = object === undefined ? '' : JSON.stringify(object)
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...where, headers }, (incoming) => {
      const { statusCode: status = 0, headersDistinct } = incoming
      const warnings = headersDistinct.warning ?? []
      text(incoming).then(
        (body) => resolve({ status, body: parsed(body), warnings: warnings.flatMap(saidIn) }),
        reject,
      )
    })
    outgoing.on('error', reject).end(body)
  })
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

/** Parses the header `Warning`, which contains one or more values like `299 - "text"`. */
function saidIn(header: string): string[] {
  return [...header.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, said = '']) => {
    return said.replace(/\\(.)/g, '$1')
  })
}
