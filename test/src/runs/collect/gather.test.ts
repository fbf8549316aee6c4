import { readFileSync } from 'node:fs'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { ApiError } from '../../../../src/cluster/api-error.ts'
import type { Apiserver } from '../../../../src/cluster/apiserver.ts'
import type { Fields } from '../../../../src/core/kubernetes/json.ts'
import { WriteError } from '../../../../src/lib/write-error.ts'
import { gather } from '../../../../src/runs/collect/gather.ts'
import { findObservers } from '../../../../src/runs/collect/observers.ts'
import { descriptionsIn } from '../../../../src/runs/log/descriptions.ts'
import { CATALOG, pod } from './pod.ts'

const LOG = readFileSync(
  new URL('../../../logs/perf-sysstat-head-format-generated.log', import.meta.url),
  'utf8',
)
const HALF = LOG.slice(0, LOG.lastIndexOf('\n', LOG.length / 2) + 1)

/** The response to a request: the text of a log, an error, or a text before a lost connection. */
type Outcome = string | Error | { readonly before: string }

function respond(outcome: Outcome): IncomingMessage {
  if (outcome instanceof Error) throw outcome
  const response = new IncomingMessage(new Socket())
  response.push(typeof outcome === 'string' ? outcome : outcome.before)
  if (typeof outcome === 'string') response.push(null)
  else setImmediate(() => response.destroy(new Error('aborted')))
  return response
}

/** Collects a log, whose requests have these outcomes. The last outcome is repeated. */
async function gatherFrom(outcomes: readonly Outcome[], state?: object) {
  let requests = 0
  const open = async () => respond(outcomes[requests++] ?? outcomes.at(-1) ?? '')
  const shape = state === undefined ? {} : { state }
  const [observer] = findObservers(
    pod({ index: 0, ...shape }) as Fields,
    new Set(),
    CATALOG,
  ).observers
  if (observer === undefined) throw new Error('the pod has no observer')
  let text = ''
  const result = await gather(
    observer,
    {
      apiserver: { open } as unknown as Apiserver,
      form: 'logs',
      descriptions: descriptionsIn(CATALOG),
      signal: new AbortController().signal,
      artifacts: undefined,
      readStatus: async () => ({ observedPods: null, time: null }),
    },
    {
      restart: async () => {
        text = ''
      },
      write: async (more) => {
        text += more
      },
    },
  )
  return { ...result, written: text, requests }
}

t.test('a log is read again from its beginning after a temporary failure', async (t) => {
  const failures: readonly Outcome[] = [
    { before: HALF },
    new ApiError(503, 'the apiserver is shutting down'),
    new Error('connect ECONNREFUSED'),
  ]
  await Promise.all(
    failures.map(async (failure) => {
      const { written, missing, text, requests } = await gatherFrom([failure, LOG])
      t.strictSame([missing, text, requests], [undefined, 'whole', 2])
      t.equal(written, LOG, 'no line is repeated or missing')
    }),
  )
})

t.test('a log is not requested again after a permanent failure', async (t) => {
  const { missing, text, requests } = await gatherFrom([new ApiError(404, 'not found'), LOG])
  t.strictSame([missing, text, requests], ['not found', 'none', 1])
})

t.test('after the fifth failure, the log is a part', async (t) => {
  const { missing, text, requests, written } = await gatherFrom([{ before: HALF }])
  t.match(missing, /^the connection broke while the log was read: /)
  t.strictSame([text, requests], ['part', 5])
  t.equal(written, HALF)
})

// The apiserver ends the response in this way if its connection to the kubelet breaks.
t.test('a log without its end is read again although the response is complete', async (t) => {
  const { missing, cuts, requests, written } = await gatherFrom([HALF, LOG])
  t.strictSame([missing, cuts, requests], [undefined, [], 2])
  t.equal(written, LOG)
})

t.test('a log that has no end, because its observer was killed, is read twice', async (t) => {
  const { missing, text, cuts, requests, written } = await gatherFrom([HALF])
  t.strictSame([missing, text, requests], [undefined, 'whole', 2])
  t.match(cuts.at(-1), /^its end is missing/)
  t.equal(written, HALF)
})

t.test('a log that ends at another place in each attempt is not whole', async (t) => {
  const lines = LOG.split('\n')
  const parts = [20, 21, 22, 23, 24].map((count) => `${lines.slice(0, count).join('\n')}\n`)
  const { missing, text, requests } = await gatherFrom(parts)
  t.equal(missing, 'its end is missing, and every attempt to read it ended at another place')
  t.strictSame([text, requests], ['part', 5])
})

t.test('the log of a running observer has no end yet, and is read once', async (t) => {
  const { missing, text, requests } = await gatherFrom([HALF], { running: {} })
  t.strictSame([missing, text, requests], [undefined, 'whole', 1])
})

t.test('an error of the destination is not repeated', async (t) => {
  const failure = new WriteError('cannot continue writing x: no space left on device (ENOSPC)')
  const [observer] = findObservers(pod({ index: 0 }) as Fields, new Set(), CATALOG).observers
  if (observer === undefined) throw new Error('the pod has no observer')
  let requests = 0
  const open = async () => {
    requests += 1
    return respond(LOG)
  }
  const gathering = {
    apiserver: { open } as unknown as Apiserver,
    form: 'jsonl',
    descriptions: descriptionsIn(CATALOG),
    signal: new AbortController().signal,
    artifacts: undefined,
    readStatus: async () => ({ observedPods: null, time: null }),
  } as const
  const full = {
    restart: async () => {},
    write: () => Promise.reject(failure),
  }
  await t.rejects(gather(observer, gathering, full), failure)
  t.equal(requests, 1)
})
