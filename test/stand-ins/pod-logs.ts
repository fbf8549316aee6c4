import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { makeAuthority } from '../../certs/make.ts'
import { answerExec, type ExecAnswer, type ExecRequest, readExecRequest } from './exec.ts'
import { growingLog } from './growing-log.ts'
import { kubeconfigOf } from './kubeconfig.ts'

/**
 * A simulated apiserver with pods and logs. Its answers have the format of the real apiserver,
 * which the tests in test/cluster use.
 */
export interface StandIn {
  /** The path of a kubeconfig for this apiserver. */
  readonly kubeconfig: string
  /** The paths and queries of the received requests. */
  readonly asked: string[]
}

export interface World {
  readonly pods: (query: URLSearchParams) => readonly object[] | ErrorAnswer
  /**
   * The logs, by POD/CONTAINER. A log is a text, an error, or a function of the test that writes
   * the answer.
   */
  readonly logs: Readonly<Record<string, string | ErrorAnswer | Answer>>
  /** Other objects and lists, by path. */
  readonly others?: Readonly<Record<string, object | ErrorAnswer>>
  /** Runs programs in containers. */
  readonly exec?: (request: ExecRequest) => ExecAnswer
}

export interface ErrorAnswer {
  readonly code: number
  readonly message: string
}

export type Answer = (response: ServerResponse, query: URLSearchParams) => void

/** The token that the apiserver accepts. */
const TOKEN = 'of-the-test'

export async function standIn(t: Test, world: World): Promise<StandIn> {
  const authority = await makeAuthority()
  const { cert, key } = await authority.issue({ names: ['127.0.0.1'] })
  const asked: string[] = []
  const server = createSecureServer({ cert, key }, (request, response) => {
    asked.push(request.url ?? '')
    if (request.headers.authorization === `Bearer ${TOKEN}`) return answer(world, request, response)
    sendError(response, { code: 401, message: 'Unauthorized' })
  })
  server.on('upgrade', (request, socket) => {
    const answer = world.exec?.(readExecRequest(request)) ?? { refused: 404 }
    answerExec(request, socket, answer)
    t.teardown(() => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { kubeconfig: writeKubeconfig(t, `https://127.0.0.1:${port}`, authority.ca), asked }
}

/** Returns the path of a kubeconfig for a server at whose port no program listens. */
export function nobody(t: Test): string {
  return writeKubeconfig(t, 'https://127.0.0.1:1')
}

function writeKubeconfig(t: Test, server: string, ca?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'ridealong-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'kubeconfig')
  writeFileSync(path, kubeconfigOf(server, ca, { token: TOKEN, namespace: 'hpc' }))
  return path
}

function answer(world: World, request: IncomingMessage, response: ServerResponse): unknown {
  const url = new URL(request.url ?? '', 'https://127.0.0.1')
  const [, , , , namespace, kind, pod, sub] = url.pathname.split('/')
  if (kind !== 'pods' || world.others?.[url.pathname] !== undefined)
    return answerOther(world, url, response)
  if (sub === 'log')
    return answerLog(world, `${pod}/${url.searchParams.get('container')}`, url, response)
  const pods = world.pods(url.searchParams)
  if ('code' in pods) return sendError(response, pods)
  const inNamespace = pods.filter((one) => namespaceOf(one) === namespace)
  if (pod === undefined) return page(inNamespace, url.searchParams, response)
  const found = inNamespace.find((one) => nameOf(one) === pod)
  if (found === undefined)
    return sendError(response, { code: 404, message: `pods "${pod}" not found` })
  send(response, found)
}

function answerOther({ others = {} }: World, { pathname }: URL, response: ServerResponse): unknown {
  const other = others[pathname] ?? { code: 404, message: `no resource ${pathname}` }
  if ('code' in other) return sendError(response, other as ErrorAnswer)
  return send(response, other)
}

/** Sends a page of at most `limit` pods, with a token for the rest, like the real apiserver. */
function page(pods: readonly object[], query: URLSearchParams, response: ServerResponse): void {
  const from = Number(query.get('continue') ?? 0)
  const to = from + Number(query.get('limit') ?? pods.length)
  const metadata = to < pods.length ? { continue: String(to) } : {}
  response.end(JSON.stringify({ kind: 'PodList', metadata, items: pods.slice(from, to) }))
}

function answerLog({ logs }: World, name: string, url: URL, response: ServerResponse): unknown {
  const log = logs[name] ?? { code: 404, message: `pods "${name}" not found` }
  if (typeof log === 'function') return log(response, url.searchParams)
  if (typeof log !== 'string') return sendError(response, log)
  if (url.searchParams.get('timestamps') !== 'true') return response.end(log)
  const whole = growingLog(log)
  whole.end()
  whole.answer(response, url.searchParams)
}

function send(response: ServerResponse, body: object): void {
  response.end(JSON.stringify(body))
}

function sendError(response: ServerResponse, { code, message }: ErrorAnswer): void {
  response.writeHead(code, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ kind: 'Status', status: 'Failure', code, message }))
}

const nameOf = (pod: object) => metadataOf(pod).name
const namespaceOf = (pod: object) => metadataOf(pod).namespace

function metadataOf(pod: object): { readonly name?: string; readonly namespace?: string } {
  return 'metadata' in pod && typeof pod.metadata === 'object' ? (pod.metadata ?? {}) : {}
}
