import t from 'tap'
import { KEYS } from '../../../../src/core/keys.ts'
import { type RepairSettings, rearm } from '../../../../src/core/namespaces/repair-label.ts'
import type { Json } from '../build.ts'

const ASKING = { [KEYS.inject]: 'perf-sysstat' }
const ARMED = { 'ridealong.dev/armed': 'true' }

function rearmed(
  annotations?: Json,
  labels?: Json,
  excluded: readonly string[] = [],
  more: Partial<RepairSettings> = {},
) {
  const object = { metadata: { name: 'hpc', resourceVersion: '7', annotations, labels } }
  return rearm(object, { excludedNamespaces: new Set(excluded), ...more })
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
      t.equal(rearm(object, { excludedNamespaces: new Set() }), undefined)
    }
  },
)

const CANARY = { 'ridealong.dev/revision': 'canary' }

t.test('only the release of a namespace repairs its label ridealong.dev/armed', async (t) => {
  const rows: [Json, string | undefined, boolean][] = [
    [{}, undefined, true],
    [{}, 'canary', false],
    [CANARY, 'canary', true],
    [CANARY, undefined, false],
    [CANARY, 'blue', false],
  ]
  for (const [labels, revision, isOurs] of rows) {
    const name = `${JSON.stringify(labels)}, release ${revision}`
    t.equal(rearmed(ASKING, labels, [], { revision }) !== undefined, isOurs, name)
  }
})

t.test('the mark of a moved namespace is removed by both releases, but not at once', async (t) => {
  const labels = { ...ARMED, ...CANARY, 'ridealong.dev/moved-from': 'default' }
  const removal = { resourceVersion: '7', labels: { 'ridealong.dev/moved-from': null } }
  for (const revision of ['canary', undefined]) {
    t.equal(rearmed(ASKING, labels, [], { revision }), undefined, 'too early')
    t.strictSame(rearmed(ASKING, labels, [], { revision, isMoveOver: true }), {
      outcome: 'settled',
      patch: { metadata: removal },
    })
  }
  t.equal(rearmed(ASKING, labels, [], { revision: 'blue', isMoveOver: true }), undefined)
  const both = { 'ridealong.dev/moved-from': null, 'ridealong.dev/armed': null }
  t.strictSame(rearmed({}, labels, [], { revision: 'canary', isMoveOver: true }), {
    outcome: 'disarmed',
    patch: { metadata: { resourceVersion: '7', labels: both } },
  })
})
