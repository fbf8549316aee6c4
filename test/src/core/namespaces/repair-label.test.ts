import t from 'tap'
import { KEYS } from '../../../../src/core/keys.ts'
import { rearm } from '../../../../src/core/namespaces/repair-label.ts'
import type { Json } from '../build.ts'

const ASKING = { [KEYS.inject]: 'perf-sysstat' }
const ARMED = { 'ridealong.dev/armed': 'true' }

function rearmed(annotations?: Json, labels?: Json, excluded: readonly string[] = []) {
  const object = { metadata: { name: 'hpc', resourceVersion: '7', annotations, labels } }
  return rearm(object, new Set(excluded))
}

t.test('a namespace that requests observers gets the label if it is missing', async (t) => {
  for (const labels of [undefined, {}, { team: 'a' }, { 'ridealong.dev/armed': 'yes' }]) {
    t.strictSame(rearmed(ASKING, labels), {
      outcome: 'armed',
      patch: { metadata: { resourceVersion: '7', labels: ARMED } },
    })
  }
})

t.test('a namespace that no longer requests observers loses the label', async (t) => {
  for (const inject of [undefined, '', ' , ', 'false', ' false ']) {
    t.strictSame(rearmed(inject === undefined ? {} : { [KEYS.inject]: inject }, ARMED), {
      outcome: 'disarmed',
      patch: { metadata: { resourceVersion: '7', labels: { 'ridealong.dev/armed': null } } },
    })
  }
})

t.test(
  'a namespace that requests an unknown metric is armed, so that its pods get a reason',
  async (t) => {
    t.equal(rearmed({ [KEYS.inject]: 'perf-sysstatt' })?.outcome, 'armed')
  },
)

t.test(
  'a correct label, an excluded namespace and an invalid object are not changed',
  async (t) => {
    t.equal(rearmed(ASKING, ARMED), undefined)
    t.equal(rearmed({}, { team: 'a' }), undefined)
    t.equal(rearmed(ASKING, {}, ['hpc']), undefined)
    t.equal(rearmed({}, ARMED, ['hpc']), undefined)
    for (const object of [
      undefined,
      null,
      7,
      {},
      { metadata: null },
      { metadata: { labels: 7 } },
    ]) {
      t.equal(rearm(object, new Set()), undefined)
    }
  },
)
