import fc from 'fast-check'
import t from 'tap'
import { KEYS } from '../../src/core/keys.ts'
import { readAnnotations, readRequest, requestsMetrics } from '../../src/core/request.ts'
import { CATALOG } from '../src/core/build.ts'

const DEFAULTS = ['io-sysstat', 'perf-sysstat']
const catalog = { ...CATALOG, defaultMetrics: DEFAULTS }

const NAMES = ['perf-sysstat', 'io-sysstat', 'cpu-profile', 'nobody']
const WORDS = ['true', 'enabled', 'false', 'disabled']

const items = fc.array(fc.constantFrom(...NAMES, ...WORDS), { maxLength: 6 })
const blank = fc.stringMatching(/^[ \t\n]{0,2}$/)

/** A list as a person may write it: with blanks, empty items and repetitions. */
const written = items.chain((list) =>
  fc
    .tuple(
      fc.constant(list),
      fc.array(fc.tuple(blank, blank, fc.nat(2)), {
        minLength: list.length,
        maxLength: list.length,
      }),
      blank,
    )
    .map(([list, around, end]) => {
      const parts = list.map((item, index) => {
        const [before, after, empty] = around[index] ?? ['', '', 0]
        return `${','.repeat(empty)}${before}${item}${after}`
      })
      return { list, text: [...parts, end].join(',') }
    }),
)

const askOf = (value: string) => readAnnotations({ [KEYS.inject]: value })
const requestOf = (value: string) => readRequest(askOf(value), new Map(), catalog)

/** What a list means, by the documents: the metrics that are known, or the reason for none. */
function meaningOf(list: readonly string[]): readonly string[] | string {
  if (list.length === 0) return 'not-asked'
  const isOut = (item: string) => item === 'false' || item === 'disabled'
  if (list.every(isOut)) return 'opted-out'
  if (list.some(isOut)) return 'invalid-option'
  const names = list.flatMap((item) => (NAMES.includes(item) ? [item] : DEFAULTS))
  const known = names.filter((name) => name !== 'nobody')
  return known.length > 0 ? [...new Set(known)] : 'unknown-metric'
}

t.test('a list of metrics and words means the same however it is written', async (t) => {
  fc.assert(
    fc.property(written, ({ list, text }) => {
      const request = requestOf(text)
      const found =
        request.kind === 'asked' ? request.metrics.map(({ metric }) => metric.name) : request.reason
      t.strictSame(found, meaningOf(list), JSON.stringify(text))
      const isAsking = request.kind !== 'nothing'
      t.equal(requestsMetrics(askOf(text)), isAsking, 'the namespace is armed for the same lists')
    }),
  )
})

t.test('enabled means the same as true, and disabled the same as false', async (t) => {
  const swap: Readonly<Record<string, string>> = { true: 'enabled', false: 'disabled' }
  fc.assert(
    fc.property(items, (list) => {
      const plain = list.filter((item) => item !== 'enabled' && item !== 'disabled')
      const swapped = plain.map((item) => swap[item] ?? item)
      const [one, other] = [plain, swapped].map((items) => requestOf(items.join(',')))
      const strip = (request: object | undefined) =>
        JSON.stringify(request).replaceAll('enabled', 'true').replaceAll('disabled', 'false')
      t.equal(strip(other), strip(one), swapped.join(','))
    }),
  )
})

t.test('any text is a request, or none, or is wrong with a printable message', async (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' })), (text) => {
      const request = requestOf(text)
      if (request.kind === 'wrong') t.match(request.message, /^[\x20-\x7e]+$/)
    }),
  )
})
