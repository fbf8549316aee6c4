import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Apiserver } from '../../../../src/cluster/apiserver.ts'
import { PAGE } from '../../../../src/cluster/reflect/list.ts'
import { startReflector } from '../../../../src/cluster/reflect/reflector.ts'
import { until } from '../../../until.ts'

t.test('objects that are too large for a page in its time are listed in small pages', async (t) => {
  const limits: string[] = []
  // An apiserver that sends large pages too slowly, and watches without events.
  const api: Pick<Apiserver, 'read'> = {
    async *read({ query = {}, signal }) {
      const { limit, watch } = query
      if (watch === undefined) limits.push(`${limit}`)
      if (watch !== undefined || limit === PAGE) {
        await sleep(2 ** 30, undefined, { signal }).catch(() => {})
        throw signal.reason
      }
      yield '{"metadata":{"resourceVersion":"7"},"items":[{}]}'
    },
  }
  const listed: (readonly unknown[])[] = []
  const reflector = startReflector({
    api: api as Apiserver,
    path: '/api/v1/pods',
    pace: {
      ...{ relistMs: 600_000, silenceMs: 90_000, answerMs: 50 },
      ...{ pauseMs: 1, longestPauseMs: 1 },
    },
    collection: { put() {}, remove() {}, settleAll: (items) => listed.push(items) },
    itemOf: (object) => object,
    onTrouble() {},
  })
  t.teardown(() => reflector.stop())
  await until('the objects are listed', () => reflector.isListed)
  // The watch gets no answer either, so the objects are listed again and again.
  t.strictSame(listed[0], [{}])
  t.strictSame(limits.slice(0, 2), ['1000', '50'])
})
