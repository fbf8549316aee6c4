import t from 'tap'
import { isInScope, readScopes } from '../../../../src/core/kubernetes/quota-scope.ts'
import type { Json } from '../build.ts'

const isIn = (scope: Json, spec: Json, isBestEffort = false) => {
  const scopes = readScopes({ scopeSelector: { matchExpressions: [scope] } })
  return scopes.every((read) => isInScope(read, spec, isBestEffort))
}
const term = { topologyKey: 'zone' }
const required = (terms: unknown) => ({ requiredDuringSchedulingIgnoredDuringExecution: terms })
const preferred = (podAffinityTerm: unknown) => ({
  preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm }],
})

/** The name of a scope, the spec of a pod, and whether the pod is in the scope. */
const ROWS: readonly (readonly [string, Json, boolean])[] = [
  ['Terminating', {}, false],
  ['Terminating', { activeDeadlineSeconds: 0 }, true],
  ['Terminating', { activeDeadlineSeconds: -1 }, false],
  ['NotTerminating', {}, true],
  ['NotTerminating', { activeDeadlineSeconds: 60 }, false],
  ['CrossNamespacePodAffinity', {}, false],
  ['CrossNamespacePodAffinity', { affinity: { podAffinity: required([term]) } }, false],
  [
    'CrossNamespacePodAffinity',
    { affinity: { podAffinity: required([term, { ...term, namespaces: ['lab'] }]) } },
    true,
  ],
  [
    'CrossNamespacePodAffinity',
    { affinity: { podAntiAffinity: required([{ ...term, namespaceSelector: {} }]) } },
    true,
  ],
  [
    'CrossNamespacePodAffinity',
    { affinity: { podAntiAffinity: preferred({ ...term, namespaces: ['lab'] }) } },
    true,
  ],
  ['CrossNamespacePodAffinity', { affinity: { podAffinity: preferred(term) } }, false],
  ['CrossNamespacePodAffinity', { affinity: { nodeAffinity: required([]) } }, false],
  ['VolumeAttributesClass', {}, false],
  ['', {}, false],
]

for (const [scopeName, spec, isInside] of ROWS) {
  const verb = isInside ? 'contains' : 'does not contain'
  t.test(`scope "${scopeName}" ${verb} a pod with spec ${JSON.stringify(spec)}`, async (t) => {
    t.equal(isIn({ scopeName, operator: 'Exists' }, spec), isInside)
  })
}

t.test('each pod is in exactly one of the scopes BestEffort and NotBestEffort', async (t) => {
  for (const isBestEffort of [true, false]) {
    t.equal(isIn({ scopeName: 'BestEffort' }, {}, isBestEffort), isBestEffort)
    t.equal(isIn({ scopeName: 'NotBestEffort' }, {}, isBestEffort), !isBestEffort)
  }
})

t.test(
  'the scope PriorityClass matches a priority class as a selector matches a label',
  async (t) => {
    const words = (operator: string, values?: unknown) =>
      ['high', 'low', undefined].map((priorityClassName) => {
        return isIn({ scopeName: 'PriorityClass', operator, values }, { priorityClassName })
      })
    t.strictSame(words('In', ['high']), [true, false, false])
    t.strictSame(words('NotIn', ['high']), [false, true, true])
    t.strictSame(words('Exists'), [true, true, false])
    t.strictSame(words('DoesNotExist'), [false, false, true])
    t.strictSame(words('Like', ['high']), [false, false, false])
  },
)

t.test('a quota has the scopes of spec.scopes and of spec.scopeSelector', async (t) => {
  const matchExpressions = [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }]
  const scopes = readScopes({ scopes: ['NotBestEffort'], scopeSelector: { matchExpressions } })
  t.strictSame(scopes, [
    { name: 'NotBestEffort', operator: 'Exists', values: [] },
    { name: 'PriorityClass', operator: 'In', values: ['high'] },
  ])
  t.strictSame(readScopes({ scopes: 'x', scopeSelector: { matchExpressions: [7] } }), [
    { name: '', operator: '', values: [] },
  ])
  t.strictSame(readScopes({}), [])
})
