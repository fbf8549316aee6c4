import t from 'tap'
import { ApiError } from '../../../src/cluster/api-error.ts'
import type { Apiserver, Call } from '../../../src/cluster/apiserver.ts'
import { listPods } from '../../../src/cluster/pods.ts'
import type { Fields } from '../../../src/core/kubernetes/json.ts'

const CHOSEN = { by: 'labels', selector: 'app=a' } as const
const NAMES = ['a', 'b', 'c', 'd', 'e']

type Page = (query: Readonly<Record<string, string>>) => Fields

/** Returns an apiserver whose pages have two pods, and the queries that it received. */
function serverOf(page: Page) {
  const queries: Readonly<Record<string, string>>[] = []
  const ask = async ({ query = {} }: Call) => {
    queries.push(query)
    return page(query)
  }
  return { apiserver: { ask } as unknown as Apiserver, queries }
}

const twoFrom: Page = ({ continue: from = '0', limit }) => {
  const end = limit === undefined ? NAMES.length : Number(from) + 2
  const items = NAMES.slice(Number(from), end).map((name) => ({ metadata: { name } }))
  return { items, metadata: end < NAMES.length ? { continue: `${end}` } : {} }
}

const readNames = async (pods: readonly Fields[]) =>
  pods.map(({ metadata }) => String(Object(metadata).name))

const expired = new ApiError(410, 'The provided continue parameter is too old')

t.test('the pods of all pages are listed in their order', async (t) => {
  const { apiserver, queries } = serverOf(twoFrom)
  t.strictSame(await listPods(apiserver, 'hpc', CHOSEN, readNames), NAMES)
  t.strictSame(
    queries.map((query) => query.continue),
    [undefined, '2', '4'],
  )
})

t.test('if the list expires between pages, no pod is missing or listed twice', async (t) => {
  let isExpired = false
  const { apiserver, queries } = serverOf((query) => {
    if (query.continue !== '4' || isExpired) return twoFrom(query)
    isExpired = true
    throw expired
  })
  t.strictSame(await listPods(apiserver, 'hpc', CHOSEN, readNames), NAMES)
  t.equal(queries.length, 6, 'the list was begun again')
})

t.test('if each list expires, the last list has no pages', async (t) => {
  const { apiserver, queries } = serverOf((query) => {
    if (query.continue !== undefined) throw expired
    return twoFrom(query)
  })
  t.strictSame(await listPods(apiserver, 'hpc', CHOSEN, readNames), NAMES)
  t.equal(queries.at(-1)?.limit, undefined)
  t.equal(queries.length, 7)
})

t.test('an overloaded apiserver is asked again for the next page', async (t) => {
  let failures = 0
  const { apiserver } = serverOf((query) => {
    if (query.continue === '2' && failures++ === 0) throw new ApiError(429, 'too many requests')
    return twoFrom(query)
  })
  t.strictSame(await listPods(apiserver, 'hpc', CHOSEN, readNames), NAMES)
})

t.test('the first page is not repeated, and its error is thrown', async (t) => {
  const { apiserver, queries } = serverOf(() => {
    throw new ApiError(410, 'gone')
  })
  await t.rejects(listPods(apiserver, 'hpc', CHOSEN, readNames), { message: /says 410: / })
  t.equal(queries.length, 1)
})
