import t from 'tap'
import { readNamespaceObject } from '../../../src/namespaces/namespace-object.ts'

t.test('Namespaces, LimitRanges and ResourceQuotas are read with their namespace', async (t) => {
  const rows = [
    [{ kind: 'Namespace', metadata: { name: 'hpc' } }, 'hpc'],
    [{ kind: 'LimitRange', metadata: { name: 'x', namespace: 'hpc' } }, 'hpc'],
    [{ kind: 'ResourceQuota', metadata: { name: 'x', namespace: 'lab' } }, 'lab'],
  ] as const
  for (const [object, namespace] of rows) {
    t.strictSame(readNamespaceObject(object), { kind: object.kind, namespace, object })
  }
})

const inside = { name: 'x', namespace: 'hpc' }

t.test('the problem of an invalid object names the kind or the missing field', async (t) => {
  const rows: [unknown, RegExp][] = [
    [undefined, /is not a Namespace, LimitRange or ResourceQuota/],
    [{ kind: 'Pod', metadata: inside }, /is not a Namespace, LimitRange or ResourceQuota/],
    [{ kind: 'Namespace', metadata: { namespace: 'hpc' } }, /a Namespace without metadata\.name$/],
    [{ kind: 'LimitRange', metadata: { name: 'x' } }, /a LimitRange without metadata\.namespace$/],
    [{ kind: 'ResourceQuota' }, /a ResourceQuota without metadata\.namespace$/],
  ]
  for (const [object, problem] of rows) t.match(readNamespaceObject(object), { problem })
})

t.test('an amount that is not a quantity is named with its resource', async (t) => {
  const limits = (item: object) => ({
    kind: 'LimitRange',
    metadata: inside,
    spec: { limits: [{ type: 'Container', max: { memory: '1Gi' } }, item] },
  })
  const quota = (rest: object) => ({ kind: 'ResourceQuota', metadata: inside, ...rest })
  const rows = [
    limits({ min: { cpu: 'much' } }),
    limits({ max: { cpu: '' } }),
    limits({ default: { cpu: '1 core' } }),
    limits({ defaultRequest: { cpu: null } }),
    limits({ maxLimitRequestRatio: { cpu: '2:1' } }),
    quota({ spec: { hard: { cpu: '1O' } } }),
    quota({ status: { hard: { cpu: [] } } }),
    quota({ status: { used: { cpu: 'x' } } }),
  ]
  const problem = /cpu is not a quantity/
  for (const object of rows) {
    t.match(readNamespaceObject(object), { problem }, `the ${object.kind} is invalid`)
  }
})
