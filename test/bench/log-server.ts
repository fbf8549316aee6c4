/**
 * Imitates an apiserver with the pods of a finished Job and their logs, for `npm run
 * bench:collect`: `node log-server.ts PODS BYTES KUBECONFIG`. Each log repeats the rows of a
 * recorded log of perf-sysstat. Writes the kubeconfig, prints `listening`, and prints `log NAME`
 * whenever a log was sent completely.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { makeAuthority } from '../../certs/make.ts'
import { pod } from '../src/runs/collect/pod.ts'
import { kubeconfigOf } from '../stand-ins/kubeconfig.ts'

const [count, bytes, path = ''] = process.argv.slice(2)
const PODS = Number(count)
const LOG = new URL('../logs/perf-sysstat-ridealong.log', import.meta.url)
const START = 'METRICS OPERATOR COLLECTION START\n'
const END = 'METRICS OPERATOR COLLECTION END\n'

const print = (line: string) => process.stdout.write(`${line}\n`)

const recorded = readFileSync(LOG, 'utf8')
const [head = '', body = ''] = recorded.split(START)
const [timepoints = '', tail = ''] = body.split(END)
const repetitions = Math.ceil(Number(bytes) / timepoints.length)

/** Yields the parts of a log. */
function* partsOfLog(): Generator<string> {
  yield head + START
  for (let count = 0; count < repetitions; count += 1) yield timepoints
  yield END + tail
}

/** Sends a page of the pods. */
function sendPods(query: URLSearchParams, response: ServerResponse): void {
  const from = Number(query.get('continue') ?? 0)
  const to = Math.min(from + Number(query.get('limit') ?? PODS), PODS)
  const items = Array.from({ length: to - from }, (_, index) => pod({ index: from + index }))
  const metadata = to < PODS ? { continue: `${to}` } : {}
  response.end(JSON.stringify({ kind: 'PodList', metadata, items }))
}

const authority = await makeAuthority()
const server = createServer(
  await authority.issue({ names: ['127.0.0.1'] }),
  async (request, response) => {
    const url = new URL(request.url ?? '', 'https://127.0.0.1')
    const [, , , , , kind, name, sub] = url.pathname.split('/')
    if (kind !== 'pods') return response.writeHead(404).end('{}')
    if (sub !== 'log') return sendPods(url.searchParams, response)
    // A client that is killed breaks the connection.
    const isSent = await pipeline(partsOfLog, response).then(
      () => true,
      () => false,
    )
    if (isSent) print(`log ${name}`)
  },
)
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  writeFileSync(path, kubeconfigOf(`https://127.0.0.1:${port}`, authority.ca))
  print('listening')
})
