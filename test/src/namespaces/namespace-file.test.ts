import { join } from 'node:path'
import t from 'tap'
import { readNamespaceFile, readNamespaceObject } from '../../../src/namespaces/namespace-file.ts'

const FILE = `
apiVersion: v1
kind: Namespace
metadata: {name: hpc, annotations: {ridealong.dev/inject: perf-sysstat}}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: LimitRange
  metadata: {name: small, namespace: hpc}
  spec: {limits: [{type: Container, max: {cpu: "2"}}]}
- apiVersion: v1
  kind: ResourceQuota
  metadata: {name: compute, namespace: hpc}
  spec: {hard: {limits.cpu: "4"}}
  status: {hard: {limits.cpu: "4"}, used: {limits.cpu: "1"}}
- apiVersion: v1
  kind: LimitRange
  metadata: {name: alone, namespace: lab}
  spec: {limits: []}
---
apiVersion: v1
kind: Namespace
metadata: {name: quiet}
`

t.test('Namespaces are read from a file with their LimitRanges and ResourceQuotas', async (t) => {
  const folder = t.testdir({ 'ns.yaml': FILE })
  const { find, revision } = await readNamespaceFile(join(folder, 'ns.yaml'))
  t.match(revision, /^[0-9a-f]{64}$/)
  const rules = ['hpc', 'lab', 'quiet', 'unknown'].map((name) => {
    const { limitRanges, quotas, annotations } = find(name)
    return [name, [...limitRanges, ...quotas].map((rule) => rule.name), annotations.size]
  })
  t.strictSame(rules, [
    ['hpc', ['small', 'compute'], 1],
    ['lab', ['alone'], 0],
    ['quiet', [], 0],
    ['unknown', [], 0],
  ])
})

t.test('the last of two Namespaces with the same name is used', async (t) => {
  const named = (inject: string) =>
    `kind: Namespace\nmetadata: {name: hpc, annotations: {ridealong.dev/inject: ${inject}}}\n`
  const folder = t.testdir({ 'ns.yaml': `${named('io-sysstat')}---\n${named('perf-sysstat')}` })
  const { find } = await readNamespaceFile(join(folder, 'ns.yaml'))
  t.strictSame([...find('hpc').annotations.values()], ['perf-sysstat'])
})

t.test('an error names the file and the number of a document of the wrong kind', async (t) => {
  const folder = t.testdir({ 'ns.yaml': `${FILE}---\nkind: Pod\nmetadata: {name: x}\n` })
  const path = join(folder, 'ns.yaml')
  await t.rejects(readNamespaceFile(path), {
    message: `${path}: document 4 is not a Namespace, LimitRange or ResourceQuota`,
  })
})

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
