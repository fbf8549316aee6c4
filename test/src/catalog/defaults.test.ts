import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { CatalogError } from '../../../src/catalog/parse.ts'

const apiVersion = 'ridealong.dev/v1alpha1'

const defaultsOf = (metrics: unknown, more: object = {}) =>
  stringify({ apiVersion, kind: 'Defaults', spec: { metrics }, ...more })

const metricOf = (name: string, more: object = {}) =>
  stringify({
    apiVersion,
    kind: 'Metric',
    metadata: { name },
    spec: {
      description: 'a metric of the test',
      privilege: 'restricted',
      container: {
        image: 'example.com/observer:1',
        resources: { limits: { cpu: '10m', memory: '16Mi' } },
      },
      ...more,
    },
  })

const TOOL = {
  installer: {
    image: 'example.com/tool:1',
    resources: { limits: { cpu: '10m', memory: '16Mi' } },
  },
  sizeLimit: '16Mi',
  mounts: [{ subPath: 'tool', mountPath: '/a/tool' }],
  results: { subPath: 'results', mountPath: '/a/results' },
  variables: [{ name: 'A', value: 'a' }],
}

const filesOf = (texts: Readonly<Record<string, string>>) => ({
  files: new Map(Object.entries(texts)),
})

async function errorOf(texts: Readonly<Record<string, string>>): Promise<string> {
  const error = await loadCatalog(filesOf(texts)).then(
    () => new Error('the catalog loads without an error'),
    (reason: unknown) => reason as Error,
  )
  return error instanceof CatalogError ? error.message : `not a CatalogError: ${error.message}`
}

t.test('the built-in catalog has default metrics, which a folder replaces', async (t) => {
  const builtIn = await loadCatalog({})
  t.ok(builtIn.defaultMetrics.length > 0)
  const folder = t.testdir({ 'ours.yaml': metricOf('ours') })
  t.strictSame((await loadCatalog({ folder })).defaultMetrics, builtIn.defaultMetrics)
  writeFileSync(join(folder, 'z.yaml'), defaultsOf(['ours', 'io-sysstat']))
  t.strictSame((await loadCatalog({ folder })).defaultMetrics, ['ours', 'io-sysstat'])
  writeFileSync(join(folder, 'z.yaml'), defaultsOf([]))
  t.strictSame((await loadCatalog({ folder })).defaultMetrics, [], 'an empty list has no defaults')
  rmSync(join(folder, 'z.yaml'))
  const whole = await loadCatalog({ folder, isWhole: true })
  t.strictSame(whole.defaultMetrics, [], 'without the built-in metrics there are no defaults')
})

t.test('default metrics are also read from documents that were read before', async (t) => {
  const catalog = await loadCatalog(
    filesOf({ 'b.yaml': metricOf('b'), '_defaults.yaml': defaultsOf(['b']) }),
  )
  t.strictSame(catalog.defaultMetrics, ['b'])
  t.strictSame([...catalog.metrics.keys()], ['b'])
})

t.test('the revision covers the default metrics and their order', async (t) => {
  const metrics = { 'a.yaml': metricOf('a'), 'b.yaml': metricOf('b') }
  const lists = [['a'], ['b'], ['a', 'b'], ['b', 'a'], []]
  const revisions = await Promise.all(
    lists.map(async (list) => {
      return (await loadCatalog(filesOf({ ...metrics, 'd.yaml': defaultsOf(list) }))).revision
    }),
  )
  t.equal(new Set(revisions).size, lists.length)
  const again = await loadCatalog(filesOf({ ...metrics, 'other.yaml': defaultsOf(['a']) }))
  t.equal(again.revision, revisions[0], 'the name of the file is not content')
})

t.test('a default metric must be one that every namespace may request', async (t) => {
  const files = {
    'b.yaml': metricOf('fine'),
    'c.yaml': metricOf('deep', { privilege: 'baseline' }),
    'd.yaml': metricOf('loaded', { tool: TOOL }),
  }
  const field = 'ConfigMap x/_defaults.yaml: spec.metrics (catalog.defaults of the chart): '
  for (const [name, problem] of [
    ['absent', 'is not a metric of the catalog'],
    ['deep', 'needs the privilege baseline, which namespaces must grant'],
    ['loaded', 'loads a tool, which namespaces must allow'],
    ['true', 'is not a metric of the catalog'],
  ]) {
    const text = defaultsOf(['fine', name])
    t.equal(
      await errorOf({ ...files, 'ConfigMap x/_defaults.yaml': text }),
      `${field}"${name}" ${problem}; valid names are fine`,
    )
  }
  const { 'b.yaml': _, ...others } = files
  t.match(await errorOf({ ...others, 'd0.yaml': defaultsOf(['deep']) }), /; valid names are none$/)
})

t.test('a built-in default metric that a folder replaces is checked again', async (t) => {
  const [name = ''] = (await loadCatalog({})).defaultMetrics
  const folder = t.testdir({ 'x.yaml': metricOf(name, { privilege: 'privileged' }) })
  await t.rejects(loadCatalog({ folder }), { message: /needs the privilege privileged/ })
  writeFileSync(join(folder, 'defaults.yaml'), defaultsOf(['io-sysstat']))
  t.strictSame((await loadCatalog({ folder })).defaultMetrics, ['io-sysstat'])
})

t.test('an invalid document of default metrics is an error', async (t) => {
  const rows: [string, RegExp][] = [
    [defaultsOf('a'), /^d\.yaml: spec\.metrics must be array$/],
    [defaultsOf([1]), /^d\.yaml: spec\.metrics\.0 must be string$/],
    [defaultsOf([true]), /^d\.yaml: spec\.metrics\.0 must be string$/],
    [defaultsOf(['a', 'a']), /^d\.yaml: spec\.metrics must NOT have duplicate items/],
    [defaultsOf(['a'], { other: 1 }), /^d\.yaml: the document must not have other$/],
    [defaultsOf(['a'], { apiVersion: 'v1' }), /^d\.yaml: apiVersion must be ridealong/],
    [
      `${defaultsOf(['a'])}---\n${defaultsOf(['a'])}`,
      /^d\.yaml: kind Defaults is there twice; keep one document$/,
    ],
  ]
  for (const [text, message] of rows)
    t.match(await errorOf({ 'a.yaml': metricOf('a'), 'd.yaml': text }), message)
})

t.test('a metric cannot have the name of a word of the annotation', async (t) => {
  for (const name of ['true', 'enabled', 'false', 'disabled']) {
    t.equal(
      await errorOf({ 'a.yaml': metricOf(name) }),
      `a.yaml: metric ${name}: metadata.name must not be true, enabled, false or disabled,` +
        ' because these words have a meaning in the annotation ridealong.dev/inject;' +
        ' rename the metric',
    )
  }
  const fine = await loadCatalog(filesOf({ 'a.yaml': metricOf('true-north') }))
  t.ok(fine.metrics.has('true-north'))
})

t.test('a metric names the metrics whose measurements it contains', async (t) => {
  const { metrics } = await loadCatalog(
    filesOf({ 'a.yaml': metricOf('a', { includes: ['b', 'absent'] }), 'b.yaml': metricOf('b') }),
  )
  t.strictSame(metrics.get('a')?.includes, ['b', 'absent'])
  t.strictSame(metrics.get('b')?.includes, [])
  t.match(
    await errorOf({ 'a.yaml': metricOf('a', { includes: ['a'] }) }),
    /metric a: spec\.includes must not name the metric itself$/,
  )
  t.match(await errorOf({ 'a.yaml': metricOf('a', { includes: ['B'] }) }), /spec\.includes\.0 must/)
})
