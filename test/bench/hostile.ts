import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { ADVERSARIES, type Adversary, RULES } from './adversarial.ts'
import type { Contender } from './server.ts'

/** The sizes of the reviews in characters. The largest is close to the limit for bodies. */
const SIZES = [2 ** 18, 2 ** 21, 7 * 2 ** 20 - 2 ** 12]

/**
 * The bounds: the milliseconds that an answer may take in addition to three times the time of
 * JSON.parse, the milliseconds of an ordinary review, and the bytes of an answer.
 */
const SLACK_MS = 200
const MAX_DELAY_MS = 500
const MAX_BYTES = 64 * 1024

interface Answer {
  readonly status: number
  readonly bytes: number
  readonly ms: number
}

/** Writes the namespaces file of the server: one Namespace with a LimitRange and quotas. */
export async function writeRules(folder: string): Promise<string> {
  const namespace = 'hpc'
  const place = (kind: string) => (object: { readonly metadata: object }) => {
    return { apiVersion: 'v1', kind, ...object, metadata: { ...object.metadata, namespace } }
  }
  const documents = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ...RULES.limitRanges.map(place('LimitRange')),
    ...RULES.resourceQuotas.map(place('ResourceQuota')),
  ]
  const file = join(folder, 'hostile-namespaces.yaml')
  await writeFile(file, documents.map((one) => JSON.stringify(one)).join('\n---\n'))
  return file
}

/**
 * Prints a row for each hostile review in each size. A row has the time of the review over HTTPS,
 * the time of JSON.parse on the same body, and the longest time of the ordinary reviews that were
 * sent in parallel.
 *
 * @param ordinary the path of a recorded AdmissionReview
 * @returns the number of rows that exceed a bound
 */
export async function benchHostile(
  { port }: Contender,
  ca: string,
  ordinary: string,
  print: (line: string) => void,
): Promise<number> {
  const small = await readFile(ordinary, 'utf8')
  const agent = new Agent({ ca, servername: 'localhost', keepAlive: true })
  const call = (body: string) => post(agent, port, body)
  for (let i = 0; i < 200; i += 1) await call(small)
  let beyond = 0
  print(`${'review'.padEnd(52)}body MB  parse ms  answer ms  bound ms  meanwhile ms  bytes  status`)
  for (const adversary of ADVERSARIES) {
    for (const size of SIZES) beyond += (await tryOne(adversary, size, small, call, print)) ? 0 : 1
  }
  agent.destroy()
  return beyond
}

async function tryOne(
  { name, build }: Adversary,
  size: number,
  small: string,
  call: (body: string) => Promise<Answer>,
  print: (line: string) => void,
): Promise<boolean> {
  const body = build(size)
  const parseMs = await parseTimeOf(body)
  let isAnswered = false
  const meanwhile = async () => {
    let longest = 0
    while (!isAnswered) longest = Math.max(longest, (await call(small)).ms)
    return longest
  }
  const hostile = call(body).finally(() => {
    isAnswered = true
  })
  const [{ status, bytes, ms }, delay] = await Promise.all([hostile, meanwhile()])
  const bound = SLACK_MS + 3 * parseMs
  const isWithin = ms <= bound && delay <= MAX_DELAY_MS && bytes <= MAX_BYTES && status < 500
  const cells = [
    (body.length / 1e6).toFixed(2),
    parseMs.toFixed(0),
    ms.toFixed(0),
    bound.toFixed(0),
    delay.toFixed(0),
    `${bytes}`,
    `${status}`,
  ]
  const widths = [7, 8, 9, 8, 12, 5, 6]
  const row = cells.map((cell, i) => cell.padStart(widths[i] ?? 0)).join('  ')
  print(`${name.padEnd(50)}  ${row}${isWithin ? '' : '  exceeds a bound'}`)
  return isWithin
}

/**
 * Measures the time of JSON.parse in milliseconds. The measurement runs in a separate process, so
 * that the garbage collector has no other memory to collect.
 */
function parseTimeOf(body: string): Promise<number> {
  const program = `let text = ''
process.stdin.setEncoding('utf8').on('data', (chunk) => { text += chunk }).on('end', () => {
  text = Buffer.from(text).toString()
  const start = performance.now()
  JSON.parse(text)
  console.log(performance.now() - start)
})`
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.on('error', reject).on('close', () => resolve(Number(output)))
    child.stdin.end(body)
  })
}

function post(agent: Agent, port: number, body: string): Promise<Answer> {
  const start = performance.now()
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const call = request(
      { agent, host: '127.0.0.1', port, path: '/mutate/pods?timeout=10s', method: 'POST', headers },
      (response) => {
        let bytes = 0
        response.on('data', (chunk) => {
          bytes += chunk.length
        })
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, bytes, ms: performance.now() - start })
        })
      },
    )
    call.on('error', reject)
    call.end(body)
  })
}
