/**
 * The demonstration. It starts the real webhook with temporary certificates, sends every recorded
 * AdmissionReview over HTTPS like the apiserver, and prints the decisions. It shows the change to
 * one pod, or to every pod with `--all`. The exit code is 0 if every review was answered and no pod
 * was denied.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { parseArgs, styleText } from 'node:util'
import type { Operation } from 'fast-json-patch'
import { pino } from 'pino'
import { makeAuthority, writeKeyPair } from '../../certs/make.ts'
import { formatDiff } from '../../cli/review/review.ts'
import { createPrinter } from '../../cli/shared/output.ts'
import { EXCLUDED_NAMESPACES } from '../../src/core/kubernetes/namespace-name.ts'
import type { ReviewResponse } from '../../src/core/response.ts'
import { readReview } from '../../src/core/review.ts'
import { serve } from '../../webhook/serve.ts'
import { CASE_NAMES, CASE_NAMESPACES, reviewFile } from '../cases/read.ts'
import { type Answered, creatorOf, type Metadata, renderSummary } from './summary.ts'

/** The pod whose change is shown: rank 0 of LAMMPS, which the Flux Operator creates. */
const SHOWN = 'flux-minicluster-rank0'

const all = readFlags()

const print = (text: string) => process.stdout.write(`${text}\n`)
const { stdout, stderr, env: environment } = process
const printer = createPrinter({ stdout, stderr, environment })

/** The lines of the server's log. Each decision is one line. */
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
try {
  print(`The webhook answers on https://127.0.0.1:${server.port}/mutate/pods\n`)
  const answered: Answered[] = []
  for (const name of CASE_NAMES) answered.push(await replay(name))
  print(`${renderSummary(answered)}\n`)
  print(styleText('bold', `The webhook answered ${answered.length} recorded reviews.`))
  if (!all) print('To show every change: npm run demo -- --all')
  print('To list the verbs of the command: npm run ridealong -- --help')
} finally {
  await server.close()
  await rm(folder, { recursive: true })
}

/** Reads `--all`. Any other argument ends the program with exit code 2. */
function readFlags(): boolean {
  try {
    return parseArgs({ options: { all: { type: 'boolean', default: false } } }).values.all
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\nUsage: npm run demo [-- --all]\n`)
    process.exit(2)
  }
}

/** Sends a recorded review, and shows the change to its pod if the pod is SHOWN or with `--all`. */
async function replay(name: string): Promise<Answered> {
  const body = await readFile(reviewFile(name), 'utf8')
  const review = readReview(JSON.parse(body))
  if ('problem' in review) throw new Error(`${name}: ${review.problem}`)
  const difference = formatDiff(review, operationsOf(await post(body)))
  const decision = decisionOn(review.uid)
  if (all || name === SHOWN) show(name, decision, difference)
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
): void {
  print(styleText('bold', `${name}: ${outcome} ${metrics?.join(', ') ?? `${reason}: ${detail}`}`))
  printer.print({ diff: difference.length === 0 ? ['  the pod is not changed'] : difference })
  print('')
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
function decisionOn(uid: string): Line {
  const line = logged.find((one) => one.uid === uid)
  if (line === undefined) throw new Error(`the server logged no decision on ${uid}`)
  return line
}
