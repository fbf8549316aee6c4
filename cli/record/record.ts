import { randomUUID } from 'node:crypto'
import { makeAuthority } from '../../certs/make.ts'
import { loadCatalog } from '../../src/catalog/load.ts'
import { isMissing } from '../../src/cluster/api-error.ts'
import type { Apiserver } from '../../src/cluster/apiserver.ts'
import type { Catalog } from '../../src/core/catalog.ts'
import { type Fields, fieldsOrNone, listOrNone } from '../../src/core/kubernetes/json.ts'
import { buildConfiguration } from '../../src/pods/recording/configuration.ts'
import { redactObject } from '../../src/pods/recording/redact.ts'
import { readClusterCatalog } from '../shared/catalogs/cluster-catalog.ts'
import { usageError } from '../shared/errors.ts'
import type { Host, Interruption } from '../shared/host.ts'
import { openCluster } from '../shared/open-cluster.ts'
import { type Reader, readerOf } from '../shared/reader.ts'
import type { Session } from '../shared/session.ts'
import { install, remove, untilCalled } from './record-cluster.ts'
import { openCaseFolder } from './record-files.ts'
import {
  type Address,
  type RecordOptions,
  readAddress,
  readLabels,
  readNamespaces,
} from './record-options.ts'
import { listen } from './record-server.ts'
import { type Recording, startRecording } from './recording.ts'

/**
 * Runs `ridealong record DIR`: creates a webhook configuration, receives the reviews of the pods
 * that are created in the given namespaces, and writes each review as a case for `test` and
 * `review`. The pods are allowed unchanged. The webhook configuration is removed at the end, also
 * after an error.
 *
 * @returns whether at least `count` cases were recorded (without `count`: at least one)
 * @throws UsageError with the problem
 */
export async function record(
  dir: string,
  options: RecordOptions,
  session: Session,
): Promise<boolean> {
  const address = readAddress(options.url)
  const selector = readLabels(options.selector)
  const { apiserver, namespace } = await openCluster(options, session.environment)
  const namespaces = readNamespaces(options.namespace ?? [namespace])
  const read = await namespaceReader(apiserver, namespaces)
  const catalog = await readCatalog(readerOf(apiserver, namespace))
  const folder = await openCaseFolder(dir)
  const ending = openEnding(options.timeout, session)
  const count = options.count ?? Number.POSITIVE_INFINITY
  const { printLine: print, note } = session
  const recording = startRecording({ folder, catalog, count, read, print, note, end: ending.end })
  try {
    await run({ ...options, address, selector, apiserver, namespaces, note, recording, ending })
    const written = await recording.finish()
    const next =
      written === 0 ? '' : `; to write their golden files: ridealong test ${dir} --update`
    note(`recorded ${written} ${written === 1 ? 'pod' : 'pods'}${next}`)
    return written >= (options.count ?? 1)
  } finally {
    ending.end()
    ending.release()
  }
}

/**
 * Returns a function that reads a namespace. First reads each namespace once, so that missing
 * permissions are reported before the first pod is created.
 */
async function namespaceReader(
  apiserver: Apiserver,
  namespaces: readonly string[],
): Promise<(name: string) => Promise<readonly Fields[]>> {
  for (const name of namespaces) await readNamespaceObjects(apiserver, name).catch(usageError)
  return (name) => readNamespaceObjects(apiserver, name)
}

/**
 * Returns the catalog of the cluster, or the built-in catalog if the cluster's catalog cannot be
 * read.
 */
async function readCatalog(reader: Reader): Promise<Catalog> {
  const found = await readClusterCatalog(reader).catch(() => undefined)
  return found !== undefined && 'value' in found ? found.value : loadCatalog({})
}

interface RecordRun extends Pick<RecordOptions, 'host' | 'port' | 'name' | 'force'> {
  readonly address: Address
  readonly selector: ReturnType<typeof readLabels>
  readonly apiserver: Apiserver
  readonly namespaces: readonly string[]
  readonly note: Session['note']
  readonly recording: Recording
  readonly ending: Ending
}

/**
 * Starts the server, installs the configuration and waits until the recording ends. Then removes
 * the configuration and closes the server.
 */
async function run(options: RecordRun): Promise<void> {
  const { address, apiserver, recording, ending, note } = options
  const authority = await makeAuthority()
  const tls = await authority.issue({ names: [address.host] })
  const [secret, probe] = [randomUUID(), randomUUID()]
  const { host, port = address.port } = options
  const server = await listen({ tls, host, port, root: `/${secret}`, onPod: recording.take })
  const url = `${address.url}/${secret}`
  const configuration = buildConfiguration({ ...options, url, ca: authority.ca, probe })
  try {
    await install(apiserver, configuration, options.force === true)
    try {
      const isOver = () => server.wasProbed() || ending.isOver()
      await untilCalled(apiserver, address.url, probe, isOver)
      if (!ending.isOver())
        note(`recording pods of ${options.namespaces.join(', ')}; press Ctrl-C to stop`)
      await ending.ended
    } finally {
      await remove(apiserver, configuration)
    }
  } finally {
    await server.close()
  }
}

const PATIENCE_MS = 10_000

const RULES = [
  { resource: 'limitranges', kind: 'LimitRange' },
  { resource: 'resourcequotas', kind: 'ResourceQuota' },
] as const

/**
 * Reads a Namespace and its LimitRanges and ResourceQuotas, and redacts them. A decision depends on
 * these objects, the pod, and the settings of the webhook.
 *
 * @returns an empty list if the namespace does not exist
 * @throws ApiError, or a network error
 */
async function readNamespaceObjects(api: Apiserver, namespace: string): Promise<readonly Fields[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}`
  const ask = (path: string) => api.ask({ path, signal: AbortSignal.timeout(PATIENCE_MS) })
  const rules = RULES.map(async ({ resource, kind }) => {
    const { items } = await ask(`${path}/${resource}`)
    // The items of a list have no apiVersion and kind.
    return listOrNone(items).map((item) => ({ apiVersion: 'v1', kind, ...fieldsOrNone(item) }))
  })
  try {
    const [own, ...others] = await Promise.all([ask(path), ...rules])
    return [own, ...others.flat()].map((object) => redactObject(fieldsOrNone(object)))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** The end of a long operation, whatever causes the end. */
interface Ending {
  /** @param trouble the error, if there is one */
  end(trouble?: unknown): void
  /** Stops ignoring interruptions, after the cleanup. */
  release(): void
  isOver(): boolean
  /** Resolves when the operation ends, or rejects with the error. */
  readonly ended: Promise<void>
}

const INTERRUPTIONS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'output'] as const satisfies Interruption[]

/**
 * Creates an `Ending`. The operation ends on SIGINT, SIGTERM or SIGHUP, after `seconds`, when the
 * output can no longer be written, or when `end` is called. Until `release` is called, later
 * signals are ignored, so that the process can finish the cleanup.
 */
function openEnding(
  seconds: number | undefined,
  { onInterruption }: Pick<Host, 'onInterruption'>,
): Ending {
  let isOver = false
  let settle: (trouble: unknown) => void = () => {}
  const ended = new Promise<void>((resolve, reject) => {
    settle = (trouble) => (trouble === undefined ? resolve() : reject(trouble))
  })
  // Prevents an unhandled rejection before a caller waits for `ended`.
  ended.catch(() => {})
  const end = (trouble?: unknown) => {
    isOver = true
    clearTimeout(timer)
    settle(trouble)
  }
  const stop = () => end()
  const timer = seconds === undefined ? undefined : setTimeout(stop, seconds * 1000)
  const release = onInterruption(INTERRUPTIONS, stop)
  return { end, release, isOver: () => isOver, ended }
}
