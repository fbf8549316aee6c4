import { join } from 'node:path'
import t from 'tap'
import { readNamespaceFile } from '../../../src/namespaces/namespace-file.ts'

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
