import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { styleText } from 'node:util'
import type { Operation } from 'fast-json-patch'
import { pino } from 'pino'
import { makeAuthority, writeKeyPair } from '../../certs/make.ts'
import { formatDiff } from '../../cli/review/review.ts'
import type { Host } from '../../cli/shared/host.ts'
import { createPrinter } from '../../cli/shared/output.ts'
import { EXCLUDED_NAMESPACES } from '../../src/core/kubernetes/namespace-name.ts'
import type { ReviewResponse } from '../../src/core/response.ts'
import { readReview } from '../../src/core/review.ts'
import { serve } from '../../webhook/serve.ts'
import { CASE_NAMES, CASE_NAMESPACES, reviewFile } from '../cases/read.ts'
import { type Answered, creatorOf, type Metadata, renderSummary } from './summary.ts'

type Outputs = Pick<Host, 'stdout' | 'stderr' | 'environment'>

/** A webhook that runs in this process. */
interface Webhook {
  readonly port: number
  /** The certificate of its authority. */
  readonly ca: string
  /** The lines of its log. Each decision is one line. */
  readonly logged: readonly Line[]
}

/**
 * Starts the real webhook with temporary certificates, sends every recorded AdmissionReview over
 * HTTPS like the apiserver, and prints all changes and a table of the decisions.
 *
 * @throws if a review was not answered, or a pod was denied
 */
export async function showDecisions(outputs: Outputs): Promise<void> {
  const logged: Line[] = []
  const folder = await mkdtemp(join(tmpdir(), 'ridealong-'))
  const authority = await makeAuthority()
  await writeKeyPair(folder, authority, { names: ['localhost', '127.0.0.1'] })
  const server = await serve({
    keyPair: { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') },
    host: '127.0.0.1',
    port: 0,
    statusPort: 0,
    environment: {},
    namespaces: CASE_NAMESPACES,
    excludedNamespaces: EXCLUDED_NAMESPACES,
    drain: { quietMs: 0, limitMs: 1000 },
    lookMs: 5000,
    log: pino({}, { write: (line) => logged.push(JSON.parse(line)) }),
  })
  const { port } = server
  const print = (text: string) => outputs.stdout.write(`${text}\n`)
  try {
    print(`The webhook answers on https://127.0.0.1:${port}/mutate/pods\n`)
    const answered: Answered[] = []
    for (const name of CASE_NAMES)
      answered.push(await replay(name, { port, ca: authority.ca, logged }, outputs))
    print(`${renderSummary(answered)}\n`)
    print(styleText('bold', `The webhook answered ${answered.length} recorded reviews.`))
  } finally {
    await server.close()
    await rm(folder, { recursive: true })
  }
}

/** Sends a recorded review, and shows the change to its pod. */
async function replay(name: string, webhook: Webhook, outputs: Outputs): Promise<Answered> {
  const body = await readFile(reviewFile(name), 'utf8')
  const review = readReview(JSON.parse(body))
  if ('problem' in review) throw new Error(`${name}: ${review.problem}`)
  const difference = formatDiff(review, operationsOf(await post(body, webhook)))
  const decision = decisionOn(review.uid, webhook)
  show(name, decision, difference, outputs)
  const { object, oldObject } = JSON.parse(body).request
  const { metadata }: { metadata: Metadata } = object ?? oldObject
  const { operator, kind } = creatorOf(metadata)
  const { outcome = '', metrics: observers = [], reason = '' } = decision
  return { operator, kind, outcome, observers, reason }
}

function show(
  name: string,
  { outcome, metrics, reason, detail }: Line,
  difference: readonly string[],
  outputs: Outputs,
): void {
  const decision = metrics?.join(', ') ?? `${reason}: ${detail}`
  outputs.stdout.write(`${styleText('bold', `${name}: ${outcome} ${decision}`)}\n`)
  const diff = difference.length === 0 ? ['  the pod is not changed'] : difference
  createPrinter(outputs).print({ diff })
  outputs.stdout.write('\n')
}

function post(body: string, { port, ca }: Webhook): Promise<ReviewResponse> {
  return new Promise((resolve, reject) => {
    const call = request({
      host: '127.0.0.1',
      port,
      path: '/mutate/pods?timeout=3s',
      method: 'POST',
      ca,
      headers: { 'content-type': 'application/json' },
    })
    call.on('error', reject)
    call.on('response', (response) => resolve(json(response) as Promise<ReviewResponse>))
    call.end(body)
  })
}

function operationsOf({ response }: ReviewResponse): Operation[] {
  if (!response.allowed) throw new Error(`the webhook denied a pod: ${response.status?.message}`)
  return JSON.parse(Buffer.from(response.patch ?? 'W10=', 'base64').toString())
}

interface Line {
  readonly uid?: string
  readonly outcome?: string
  readonly reason?: string
  readonly detail?: string
  readonly metrics?: readonly string[]
}

/** Finds the decision on a review in the server's log by the uid of the review. */
function decisionOn(uid: string, { logged }: Webhook): Line {
  const line = logged.find((one) => one.uid === uid)
  if (line === undefined) throw new Error(`the server logged no decision on ${uid}`)
  return line
}
