/**
 * The main job, once: starts the real webhook with throw-away certificates, sends it every recorded
 * AdmissionReview over HTTPS as the apiserver would, and prints what was decided and what the pod
 * gains. Exits 0 when every pod was answered.
 */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import type { Operation } from 'fast-json-patch'
import { pino } from 'pino'
import { makeAuthority, writeKeyPair } from '../certs/make.ts'
import { diffOf } from '../src/cli/review.ts'
import { EXCLUDED_NAMESPACES } from '../src/core/namespace-name.ts'
import type { ReviewResponse } from '../src/core/response.ts'
import { readReview } from '../src/core/review.ts'
import { serve } from '../webhook/serve.ts'

const CASES = fileURLToPath(new URL('./cases/', import.meta.url))

const print = (text: string) => process.stdout.write(`${text}\n`)

/** What the server logs: one line per decision. */
const logged: Line[] = []

const folder = await mkdtemp(join(tmpdir(), 'ridealong-'))
const authority = await makeAuthority()
await writeKeyPair(folder, authority, { names: ['localhost', '127.0.0.1'] })
const server = await serve({
  cert: join(folder, 'tls.crt'),
  key: join(folder, 'tls.key'),
  host: '127.0.0.1',
  port: 0,
  statusPort: 0,
  namespaces: join(CASES, 'namespaces.yaml'),
  excludedNamespaces: EXCLUDED_NAMESPACES,
  drain: { quietMs: 0, limitMs: 1000 },
  lookMs: 5000,
  log: pino({}, { write: (line) => logged.push(JSON.parse(line)) }),
})
try {
  print(`The webhook answers on https://127.0.0.1:${server.port}/mutate/pods\n`)
  const entries = await readdir(CASES, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  for (const name of names.sort()) await replay(name)
  print(styleText('bold', `${names.length} reviews answered; see npm run ridealong -- --help`))
} finally {
  await server.close()
  await rm(folder, { recursive: true })
}

async function replay(name: string): Promise<void> {
  const body = await readFile(join(CASES, name, 'review.json'), 'utf8')
  const review = readReview(JSON.parse(body))
  if ('problem' in review) throw new Error(`${name}: ${review.problem}`)
  const difference = diffOf(review, operationsOf(await post(body)))
  print(styleText('bold', `${name}: ${decisionOn(review.uid)}`))
  print(difference === '' ? '  the pod stays as it is\n' : `${difference}\n`)
}

function post(body: string): Promise<ReviewResponse> {
  return new Promise((resolve, reject) => {
    const call = request({
      host: '127.0.0.1',
      port: server.port,
      path: '/mutate/pods?timeout=3s',
      method: 'POST',
      ca: authority.ca,
      headers: { 'content-type': 'application/json' },
    })
    call.on('error', reject)
    call.on('response', (response) => resolve(json(response) as Promise<ReviewResponse>))
    call.end(body)
  })
}

function operationsOf({ response }: ReviewResponse): Operation[] {
  if (!response.allowed) throw new Error(`refused: ${response.status?.message}`)
  return JSON.parse(Buffer.from(response.patch ?? 'W10=', 'base64').toString())
}

interface Line {
  readonly uid?: string
  readonly outcome?: string
  readonly reason?: string
  readonly detail?: string
  readonly metrics?: readonly string[]
}

function decisionOn(uid: string): string {
  const line = logged.find((one) => one.uid === uid)
  if (line === undefined) throw new Error(`the server logged no decision on ${uid}`)
  const what = line.metrics?.join(', ') ?? `${line.reason}: ${line.detail}`
  return `${line.outcome} ${what}`
}
