import {
  existsSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type Agent, type IncomingHttpHeaders, request as plainRequest } from 'node:http'
import { type AgentOptions, Agent as SecureAgent, request as secureRequest } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectSecurely, type TLSSocket } from 'node:tls'
import type { Logger } from 'pino'
import type { Test } from 'tap'
import { type Authority, makeAuthority } from '../../certs/make.ts'
import { loadCatalog } from '../../src/catalog/load.ts'
import type { Catalog } from '../../src/core/catalog.ts'
import type { Operation } from '../../src/core/patch.ts'
import { indexNamespaces } from '../../src/namespaces/namespace-file.ts'
import { openLog } from '../../webhook/log.ts'
import { createMetrics } from '../../webhook/metrics.ts'
import { type ServeOptions, type Server, serve } from '../../webhook/serve.ts'
import { type AppOptions, buildApp } from '../../webhook/server.ts'

/** The names in the certificates of the tests' servers. */
export const NAMES = ['localhost', '127.0.0.1']

/**
 * The maximum event loop delay in milliseconds. It is long, because servers must not refuse
 * requests on a busy machine, except in tests of overload.
 */
const PATIENT_EVENT_LOOP_MS = 60_000

/** The maximum time that a test waits, in milliseconds. */
const PATIENCE_MS = 120_000

export const NAMESPACES = `apiVersion: v1
kind: Namespace
metadata: {name: quiet}
---
apiVersion: v1
kind: Namespace
metadata: {name: hpc, annotations: {ridealong.dev/inject: perf-sysstat}}
`

/** Returns the value of a promise, or `late` if it does not settle in time. */
export async function inTime<T>(promise: Promise<T>): Promise<T | 'late'> {
  const giveUp = new AbortController()
  const late = sleep(PATIENCE_MS, 'late' as const, { signal: giveUp.signal })
  late.catch(() => {})
  try {
    return await Promise.race([promise, late])
  } finally {
    giveUp.abort()
  }
}

/** Opens a log that stores its lines. */
export function capturedLog(level = 'trace'): { log: Logger; lines: string[] } {
  const lines: string[] = []
  return { log: openLog(level, { write: (line) => lines.push(line) }), lines }
}

/** The response to a request. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Whether the request used the connection of an earlier request. */
  readonly reused: boolean
}

export interface Call {
  readonly port: number
  /**
   * The CA that must have issued the server's certificate. Without a CA, the request is plain HTTP.
   */
  readonly ca?: string
  readonly path: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A list of buffers is sent in chunks; a text or a buffer is sent with its length. */
  readonly body?: string | Buffer | readonly Buffer[]
  readonly agent?: Agent
}

/** Sends a request over a new connection, or over a connection of the agent. */
export function call({ ca, body, agent, ...where }: Call): Promise<Answer> {
  const { port, path, method = 'GET', headers = {} } = where
  const pieces = Array.isArray(body) ? body : undefined
  const whole = pieces === undefined ? Buffer.from((body ?? '') as string) : undefined
  const length = whole && body !== undefined ? { 'content-length': `${whole.length}` } : {}
  const options = { host: '127.0.0.1', port, path, method, agent: agent ?? false }
  return new Promise((resolve, reject) => {
    const outgoing = (ca === undefined ? plainRequest : secureRequest)({
      ...options,
      headers: { ...headers, ...length },
      ...(ca === undefined ? {} : { ca }),
    })
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      const { statusCode: status = 0, headers } = incoming
      const { reusedSocket: reused } = outgoing
      text(incoming).then((body) => resolve({ status, headers, body, reused }), reject)
    })
    for (const piece of pieces ?? []) outgoing.write(piece)
    outgoing.end(whole)
  })
}

export const JSON_TYPE = { 'content-type': 'application/json' }

/** Posts a review, as the apiserver does. */
export function post(
  { port, ca }: { readonly port: number; readonly ca: string },
  path: string,
  review: unknown,
  agent?: Agent,
): Promise<Answer> {
  const body = typeof review === 'string' ? review : JSON.stringify(review)
  return call({
    port,
    ca,
    path,
    method: 'POST',
    headers: JSON_TYPE,
    body,
    ...(agent ? { agent } : {}),
  })
}

/** Creates an agent that keeps connections open. */
export function keepAliveAgent(t: Test, options: AgentOptions = {}): SecureAgent {
  const agent = new SecureAgent({ keepAlive: true, maxSockets: 1, ...options })
  t.teardown(() => agent.destroy())
  return agent
}

/** Opens a TLS connection, on which a test writes HTTP itself. */
export function openSocket(port: number, ca: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectSecurely({ port, host: '127.0.0.1', ca, servername: 'localhost' })
    socket.once('error', reject)
    socket.once('secureConnect', () => {
      // A server may close the connection after a test has sent invalid data.
      socket.on('error', () => {})
      resolve(socket)
    })
  })
}

/** Reports whether a program listens on a port. */
export function isListening(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host })
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}

/** The `response` of an AdmissionReview. */
export interface Verdict {
  readonly uid: string
  readonly allowed: boolean
  readonly status?: { readonly code: number; readonly reason: string; readonly message: string }
  readonly patchType?: string
  readonly patch?: string
  readonly warnings?: readonly string[]
}

/** Parses the answer to a review. */
export function verdictOf({ status, body }: Answer): Verdict {
  if (status !== 200) throw new Error(`HTTP ${status}: ${body}`)
  const { apiVersion, kind, response } = JSON.parse(body)
  if (apiVersion !== 'admission.k8s.io/v1' || kind !== 'AdmissionReview') throw new Error(body)
  return response
}

/** Returns the operations in an answer's patch. */
export function operationsOf(answer: Answer): readonly Operation[] {
  const { patch, patchType } = verdictOf(answer)
  if (patch === undefined) return []
  if (patchType !== 'JSONPatch') throw new Error(`patchType is ${patchType}`)
  return JSON.parse(Buffer.from(patch, 'base64').toString('utf8'))
}

/** Returns the names of the containers that an answer's patch adds. */
export function addedNames(answer: Answer): readonly string[] {
  return operationsOf(answer)
    .filter(({ path }) => /^\/spec\/(initC|c)ontainers/.test(path))
    .flatMap((operation) => ('value' in operation ? [operation.value].flat() : []))
    .map(({ name }) => name)
}

export type Json = Readonly<Record<string, unknown>>

/** Returns a pod with one container and these annotations. */
export function podOf(annotations: Json, changes: { metadata?: Json; spec?: Json } = {}): Json {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'lammps-0', namespace: 'quiet', annotations, ...changes.metadata },
    spec: { containers: [{ name: 'app', image: 'lammps' }], ...changes.spec },
  }
}

/** A pod that requests a metric. */
export const ASKING = podOf({ 'ridealong.dev/inject': 'perf-sysstat' })

export function namespaceOf(name: string, annotations?: Json, labels?: Json): Json {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, annotations, labels } }
}

/** Returns the review of the creation of an object. */
export function reviewOf(object: unknown, changes: Json = {}): Json {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: '2bf81092-b31c-43bd-8cff-5901dbd750b9',
      operation: 'CREATE',
      namespace: 'quiet',
      dryRun: false,
      object,
      oldObject: null,
      ...changes,
    },
  }
}

/**
 * Returns the sum of a Prometheus metric's samples with these labels; undefined if there is no such
 * sample.
 */
export function sampleOf(exposition: string, name: string, labels: Json = {}): number | undefined {
  const samples = exposition.split('\n').filter((line) => {
    const [series = ''] = line.split(' ')
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
    return series.split('{')[0] === name && wanted.every((label) => series.includes(label))
  })
  if (samples.length === 0) return undefined
  return samples.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

/**
 * Writes files into a folder exactly as a kubelet updates a mounted Secret or ConfigMap. The files
 * are written into a new folder that is named after the time. Then the link `..data` is switched to
 * this folder (kubernetes pkg/volume/util/atomic_writer.go).
 */
export function mountFiles(folder: string, files: Readonly<Record<string, string>>): void {
  mounts += 1
  const target = `..2026_11_21_13_00_00.${String(mounts).padStart(9, '0')}`
  mkdirSync(join(folder, target), { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, target, name), content)
  }
  const isFirst = !existsSync(join(folder, '..data'))
  const old = isFirst ? undefined : readlinkSync(join(folder, '..data'))
  symlinkSync(target, join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  if (old === undefined) {
    for (const name of Object.keys(files)) symlinkSync(join('..data', name), join(folder, name))
  } else rmSync(join(folder, old), { recursive: true })
}

let mounts = 0

/** Replaces a file in one step. A reader finds the old or the new text, never an empty file. */
export function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

const FOLDERS = new WeakMap<Test, { readonly root: string; servers: number }>()

/** Returns the path of a new folder within the test's folder. */
function folderOf(t: Test): string {
  const folders = FOLDERS.get(t) ?? { root: t.testdir({}), servers: 0 }
  FOLDERS.set(t, folders)
  folders.servers += 1
  return join(folders.root, `server-${folders.servers}`)
}

/** A running webhook, with functions to test it. */
export interface Running {
  readonly server: Server
  readonly port: number
  readonly ca: string
  readonly authority: Authority
  /**
   * Contains tls/tls.crt and tls/tls.key, as in a mounted Secret, and namespaces.yaml and catalog/.
   */
  readonly folder: string
  readonly lines: readonly string[]
  status(path: string): Promise<Answer>
  metrics(): Promise<string>
}

export interface StartOptions extends Partial<Omit<ServeOptions, 'namespaces' | 'catalog'>> {
  /** The number of days for which the certificate is valid. */
  readonly days?: number
  readonly namespaces?: string
  /**
   * The files of the catalog folder, by name. If undefined, the server uses the built-in catalog.
   */
  readonly catalog?: Readonly<Record<string, string>>
}

/** Starts the real server on free ports, with temporary certificates. */
export async function startServer(t: Test, options: StartOptions = {}): Promise<Running> {
  const { days, namespaces = NAMESPACES, catalog, ...others } = options
  const authority = await makeAuthority()
  const folder = folderOf(t)
  mkdirSync(join(folder, 'catalog'), { recursive: true })
  writeFileSync(join(folder, 'namespaces.yaml'), namespaces)
  for (const [name, text] of Object.entries(catalog ?? {})) {
    writeFileSync(join(folder, 'catalog', name), text)
  }
  const pair = await authority.issue({ names: NAMES, ...(days === undefined ? {} : { days }) })
  mountFiles(join(folder, 'tls'), { 'tls.crt': pair.cert, 'tls.key': pair.key })
  const { log, lines } = capturedLog()
  const server = await serve({
    keyPair: { cert: join(folder, 'tls', 'tls.crt'), key: join(folder, 'tls', 'tls.key') },
    environment: {},
    port: 0,
    statusPort: 0,
    host: '127.0.0.1',
    namespaces: others.kubeconfig === undefined ? join(folder, 'namespaces.yaml') : undefined,
    catalog: catalog && join(folder, 'catalog'),
    excludedNamespaces: ['kube-system'],
    drain: { quietMs: 1, limitMs: 1000 },
    lookMs: 20,
    log,
    maxEventLoopDelayMs: PATIENT_EVENT_LOOP_MS,
    ...others,
  })
  let isClosed = false
  const close = async () => {
    isClosed = true
    await server.close()
  }
  t.teardown(() => (isClosed ? undefined : server.close()))
  const status = (path: string) => call({ port: server.statusPort, path })
  const metrics = async () => (await status('/metrics')).body
  const { port, statusPort } = server
  const running = { server: { port, statusPort, close }, port, ca: authority.ca, authority, folder }
  return { ...running, lines, status, metrics }
}

type AppParts = Partial<AppOptions> & { readonly level?: string }

/** Starts only the HTTPS server. `parts` replace its default options. */
export async function startApp(t: Test, parts: AppParts = {}) {
  const { app, ...others } = await makeApp(t, parts)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return { app, port, ...others }
}

/** Builds only the HTTPS server. It does not listen yet, so that a test can add hooks. */
export async function makeApp(t: Test, { level, ...others }: AppParts = {}) {
  const authority = await makeAuthority()
  const { log, lines } = capturedLog(level)
  const catalog: Catalog = await loadCatalog({})
  const metrics = createMetrics()
  const app = await buildApp({
    tls: await authority.issue({ names: NAMES }),
    catalog: () => catalog,
    namespaces: indexNamespaces([]),
    excludedNamespaces: new Set(),
    metrics,
    log,
    maxEventLoopDelayMs: PATIENT_EVENT_LOOP_MS,
    ...others,
  })
  t.teardown(() => app.close())
  return { app, ca: authority.ca, lines, metrics: () => metrics.registry.metrics() }
}
