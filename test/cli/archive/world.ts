import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { makeAuthority } from '../../../certs/make.ts'
import { freePort } from '../../free-ports.ts'
import { StandIn } from '../../stand-ins/apiserver.ts'
import type { GrowingLog } from '../../stand-ins/growing-log.ts'
import { NAMES } from '../../webhook/server.ts'

/** When the containers of pods start. */
const STARTED_AT = '2026-01-01T23:59:58Z'

/** A simulated cluster with pods, their logs, and objects Run. */
export interface World {
  readonly standIn: StandIn
  readonly server: string
  readonly ca: string
  /** The logs of pods. A pod without a log is deleted. */
  readonly logs: Map<string, GrowingLog>
  /** The namespace of the pods that are put and deleted. */
  readonly namespace: string
}

/**
 * Starts a simulated apiserver that also has logs, and stores objects Run.
 *
 * @param createdAt when objects Run are created, in RFC 3339 format; by default, when pods start
 */
export async function startWorld(t: Test, createdAt = STARTED_AT): Promise<World> {
  const authority = await makeAuthority()
  const [standIn, logs] = [new StandIn(), new Map<string, GrowingLog>()]
  const pair = await authority.issue({ names: NAMES })
  const server = createServer(pair, (request, response) => {
    answer({ standIn, logs, createdAt }, request, response).catch((error) =>
      response.destroy(error),
    )
  })
  const port = await freePort()
  await once(server.listen(port, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { standIn, server: `https://127.0.0.1:${port}`, ca: authority.ca, logs, namespace: 'hpc' }
}

const PATH = /namespaces\/([^/]+)\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/

async function answer(
  { standIn, logs, createdAt }: Pick<World, 'standIn' | 'logs'> & { readonly createdAt: string },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<unknown> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'https://localhost')
  const [, namespace = '', resource = '', name = '', sub] = PATH.exec(pathname) ?? []
  const send = (status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const log = logs.get(name)
  if (sub === 'log')
    return log === undefined ? send(404, { code: 404 }) : log.answer(response, searchParams)
  if (resource !== 'runs' || request.method === 'GET') return standIn.answer(request, response)
  const body = withCreation(JSON.parse((await text(request)) || '{}'), createdAt)
  return send(200, changeRun(standIn, `${request.method}`, { namespace, name, body }))
}

function withCreation(object: RunStatus, creationTimestamp: string): object {
  return { ...object, metadata: { ...object.metadata, creationTimestamp } }
}

/** Creates, deletes or changes an object Run. */
function changeRun(
  standIn: StandIn,
  method: string,
  { namespace, name, body }: { readonly namespace: string; readonly name: string; body: RunStatus },
): object {
  if (method === 'POST') return standIn.put('runs', body)
  if (method === 'DELETE') {
    standIn.remove('runs', name, namespace)
    return {}
  }
  const found = standIn.get('runs', name, namespace)
  if (found === undefined) throw new Error(`there is no Run ${name}`)
  return standIn.put('runs', { ...found, status: { ...Object(found.status), ...body.status } })
}

const statusOfPod = (metric: string) =>
  JSON.stringify({ outcome: 'injected', metrics: [metric], mode: 'native' })

type State = 'running' | 'ended'

/** A controller of a kind that the archive does not read. */
export const CONTROLLER = {
  ...{ apiVersion: 'example.org/v1', kind: 'Solver', controller: true },
  ...{ name: 'solver', uid: '00000000-0000-4000-8000-000000000001' },
}

/** Puts a pod. */
export function putPod(
  { standIn, namespace }: World,
  name: string,
  state: State,
  observer = 'vitals',
  ownerReferences: readonly object[] = [],
): void {
  const startedAt = STARTED_AT
  const running = { running: { startedAt } }
  const terminated = {
    exitCode: 0,
    reason: 'Completed',
    startedAt,
    finishedAt: '2026-01-02T00:00:08Z',
  }
  const of = (container: string) => [
    { name: container, restartCount: 0, state: state === 'running' ? running : { terminated } },
  ]
  standIn.put('pods', {
    metadata: {
      ...{ name, namespace, uid: `uid${name}`, ownerReferences },
      annotations: { 'ridealong.dev/status': statusOfPod(observer) },
    },
    spec: {
      initContainers: [{ name: observer, restartPolicy: 'Always' }],
      containers: [{ name: 'app', image: 'registry.example/solver:1' }],
    },
    status: {
      phase: state === 'running' ? 'Running' : 'Succeeded',
      startTime: startedAt,
      containerStatuses: of('app'),
      initContainerStatuses: of(observer),
    },
  })
}

export function deletePod({ standIn, logs, namespace }: World, name: string): void {
  logs.delete(name)
  standIn.remove('pods', name, namespace)
}

// biome-ignore lint/suspicious/noExplicitAny: the status of an object Run.
export type RunStatus = any

/** Returns the status of the Run of a pod. */
export function statusOf({ standIn }: World, pod: string): RunStatus {
  return standIn.all('runs').find(({ spec }) => Object(spec).workload.name === pod)?.status
}

/** Returns the folder of the rows of a pod. */
export const pathOf = (pod: string) =>
  `namespace=hpc/date=2026-01-01/run=${pod}-${`uid${pod}`.replaceAll('-', '').slice(0, 8)}`
