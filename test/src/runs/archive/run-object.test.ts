import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import type { Fields } from '../../../../src/core/kubernetes/json.ts'
import { readArchivedRun } from '../../../../src/runs/archive/archived-run.ts'
import { readRunCard } from '../../../../src/runs/archive/read-run.ts'
import {
  buildRunObject,
  MAX_BYTES,
  type RunObject,
} from '../../../../src/runs/archive/run-object.ts'
import { attemptsDocument } from '../../../../src/runs/attempts/attempts-document.ts'
import { formatCard } from '../../../../src/runs/card/card-text.ts'
import { makeRunCard } from '../../../../src/runs/card/run-card.ts'
import { buildRunTable } from '../../../../src/runs/card/run-table.ts'
import { RUN } from '../facts/generated-runs.ts'
import { HOSTILE } from './archived.ts'

const NOW = Date.UTC(2026, 0, 1)
const NONE: ReadonlyMap<string, string> = new Map()

/** Characters that a terminal interprets: all escapes are printable ASCII. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** Returns an object as the apiserver returns it. */
function asStored(object: RunObject): RunObject & Fields {
  return JSON.parse(JSON.stringify(object))
}

/** Returns the texts in a value. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

t.test('an object is bounded, and hostile texts are escaped', (t) => {
  fc.assert(
    fc.property(HOSTILE, (card) => {
      const { spec, status } = buildRunObject(card, NONE, NOW)
      const bytes = Buffer.byteLength(JSON.stringify({ workload: spec.workload, status }))
      return bytes <= MAX_BYTES && !textsIn(status).some((text) => UNPRINTABLE.test(text))
    }),
    { numRuns: 300 },
  )
  t.end()
})

t.test('a run of 4,096 pods with ten attempts fits into an object', (t) => {
  const [recorded] = fc.sample(RUN, { numRuns: 1, seed: 1 })
  const [pod] = recorded?.pods ?? []
  if (recorded === undefined || pod === undefined) return t.end()
  const starts = Array.from({ length: 10 }, (_, index) => ({
    ...{ number: index + 1, from: index * 60_000, to: index * 60_000 + 59_000 },
    end: { reason: 'OOMKilled', exitCode: 137, signal: 9 },
  }))
  const history = {
    ...pod.history,
    starts: [{ name: 'trainer', first: 0, last: 540_000, restarts: 9, runs: starts }],
  }
  const pods = Array.from({ length: 4096 }, (_, index) => {
    const name = `train-workers-0-${index}`
    return { ...pod, name, uid: name, pod_index: `workers-0-${index}`, history }
  })
  const object = asStored(buildRunObject(makeRunCard({ ...recorded, pods }, NOW), NONE, NOW))
  const { spec, status } = object
  t.ok(Buffer.byteLength(JSON.stringify({ workload: spec.workload, status })) <= MAX_BYTES)
  const attempt = { reason: 'OOMKilled', exitCode: 137, count: 4096, seconds: 4096 * 59 }
  t.match(
    status.attempts,
    starts.map(({ number }) => ({ attempt: number, ...attempt })),
  )
  const read = readRunCard(object, NOW)
  t.strictSame(read && attemptsDocument(read.attempts), status.attempts)
  t.end()
})

t.test('an archive that starts again reads the phase and the pods of each run', (t) => {
  fc.assert(
    fc.property(RUN, (run) => {
      const read = readArchivedRun(asStored(buildRunObject(makeRunCard(run, NOW), NONE, NOW)))
      return read?.phase === run.phase && read.podsSeen === run.pods.length
    }),
    { numRuns: 200 },
  )
  t.end()
})

t.test('the card that is read from an object has all that is in the object', (t) => {
  fc.assert(
    fc.property(RUN, (run) => {
      const card = makeRunCard(run, NOW)
      const object = asStored(buildRunObject(card, NONE, NOW))
      const read = readRunCard(object, NOW)
      if (read === undefined) return false
      const again = asStored(buildRunObject(read, NONE, NOW))
      const parts = ({ status: { card, time, attempts } }: typeof object) => [card, time, attempts]
      return isDeepStrictEqual(parts(again), parts(object))
    }),
    { numRuns: 200 },
  )
  t.end()
})

t.test('the card of an object is printed as that of the run', async (t) => {
  const [recorded] = fc.sample(RUN, { numRuns: 1, seed: 1 })
  if (recorded === undefined) return
  const pods = recorded.pods.map((pod) => ({ ...pod, started: 0, ended: 40_000 }))
  const card = makeRunCard({ ...recorded, pods }, NOW)
  const small = { ...card, advice: [], roles: [] }
  const read = readRunCard(asStored(buildRunObject(small, NONE, NOW)), NOW)
  t.strictSame(read && formatCard(read), formatCard(small))
})

t.test('the table and the card have the URL of the page, if it is one of the web', (t) => {
  const metadata = { name: 'plain-12345678', namespace: 'hpc' }
  const workload = { apiVersion: 'batch/v1', kind: 'Job', name: 'plain', uid: '12345678' }
  const printed = (url: string) => {
    const status = { phase: 'Succeeded', rows: { url } }
    const card = readRunCard({ metadata, spec: { workload }, status }, NOW)
    if (card === undefined) throw new Error('the object has a card')
    const table = buildRunTable([card], { hasNamespaces: false, isWide: true })
    return { page: card.page, table: table.rows.flat(), card: JSON.stringify(formatCard(card)) }
  }
  const url =
    'https://runs.example.org/namespace=hpc/date=2026-01-01/run=plain-12345678/report.html'
  const { page, table, card } = printed(url)
  t.equal(page, url)
  t.ok(table.includes('PAGE') && table.includes(url))
  t.match(card, `["page","${url}"]`)
  const other = printed('javascript:alert(1)')
  t.equal(other.page, null)
  t.notOk(other.table.includes('PAGE'))
  t.notMatch(other.card, 'page')
  t.end()
})

t.test('an object without a status has no card, and one of the wrong types has no numbers', (t) => {
  const metadata = { name: 'plain-12345678', namespace: 'hpc' }
  const workload = { apiVersion: 'batch/v1', kind: 'Job', name: 'plain', uid: '12345678' }
  t.equal(readRunCard({ metadata, spec: { workload } }, NOW), undefined)
  const status = { phase: 'Failed', seconds: 'long', card: { cores: [], roles: 7, findings: [{}] } }
  t.match(readRunCard({ metadata, spec: { workload }, status }, NOW), {
    run: { word: 'job', phase: 'Failed' },
    seconds: null,
    cores: { used: null },
    roles: [],
    findings: [],
  })
  t.end()
})
