import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parser } from '@prometheus-io/lezer-promql'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { BUILT_IN } from '../../src/catalog/built-in.ts'
import { loadCatalog } from '../../src/catalog/load.ts'
import metricSchema from '../../src/catalog/metric.schema.json' with { type: 'json' }
import { asFields, type Fields, fieldsOrNone, listOrNone } from '../../src/core/kubernetes/json.ts'
import { CHART, PROGRAMS, render, run, skip } from './programs.ts'
import { EVERYTHING, LITTLE, SELF } from './values.ts'

function objectsOf(manifests: string): readonly Fields[] {
  return parseAllDocuments(manifests)
    .map((document) => asFields(document.toJS()))
    .filter((object) => object !== undefined)
}

const read = (path: string) => readFileSync(path, 'utf8')
const valuesSchema = JSON.parse(read(join(CHART, 'values.schema.json')))

t.test('the chart contains the documents of the built-in catalog', (t) => {
  const names = readdirSync(BUILT_IN).filter((name) => /^[^_].*\.yaml$/.test(name))
  const copies = join(CHART, 'files/catalog')
  t.same(readdirSync(copies).sort(), names.sort(), 'run `npm run chart:catalog`')
  for (const name of names)
    t.equal(read(join(copies, name)), read(join(BUILT_IN, name)), `the copy of ${name}`)
  t.end()
})

t.test('the chart has the default metrics of the built-in catalog', async (t) => {
  const values = parse(read(join(CHART, 'values.yaml')))
  const { defaultMetrics } = await loadCatalog({})
  t.same(values.catalog.defaults, defaultMetrics)
})

t.test('the schema of the values has the same definition of a metric as the catalog', (t) => {
  const { metric, ...definitions } = valuesSchema.definitions
  t.same(metric, metricSchema.properties.spec)
  for (const [name, definition] of Object.entries(metricSchema.definitions)) {
    t.same(definitions[name], definition, `the definition of ${name}`)
  }
  const { description: _, ...name } = metricSchema.properties.metadata.properties.name
  const { metrics, defaults } = valuesSchema.properties.catalog.properties
  t.same(metrics.propertyNames, name)
  t.same(defaults.items, name)
  t.end()
})

/**
 * Returns the places in a schema where an object may have keys that the schema does not name.
 * Objects with a description, such as objects of Kubernetes, are not returned.
 */
function openPlaces(schema: unknown, place = '#'): readonly string[] {
  const { type, properties, additionalProperties, description } = fieldsOrNone(schema)
  const isOpen =
    type === 'object' && additionalProperties === undefined && description === undefined
  const inner = Object.entries(fieldsOrNone(properties)).flatMap(([key, value]) =>
    openPlaces(value, `${place}/${key}`),
  )
  return isOpen ? [place, ...inner] : inner
}

t.test('the schema names every key of the values, except in objects of Kubernetes', (t) => {
  t.same(openPlaces(valuesSchema), [])
  t.equal(valuesSchema.additionalProperties, false)
  t.end()
})

t.test('every top-level value has a schema', (t) => {
  const [values] = objectsOf(read(join(CHART, 'values.yaml')))
  const known = Object.keys(valuesSchema.properties).filter((key) => key !== 'global')
  t.same(Object.keys(values ?? {}).sort(), known.sort())
  t.end()
})

t.test('helm lint finds no problem in the chart', { skip }, (t) => {
  for (const helm of ['helm-4', 'helm-3'] as const) {
    const { code, out, err } = run(PROGRAMS[helm], ['lint', '--strict', CHART])
    t.equal(code, 0, `${helm}: ${out}${err}`)
  }
  t.end()
})

t.test('Helm 3 renders the same objects as Helm 4', { skip }, (t) => {
  for (const values of [[], EVERYTHING, LITTLE, SELF]) {
    const byName = (helm: 'helm-3' | 'helm-4') =>
      objectsOf(render(values, helm))
        .map((object) => JSON.stringify(object))
        .sort()
    t.same(byName('helm-3'), byName('helm-4'))
  }
  t.end()
})

t.test(
  'only the Role and RoleBinding for dry runs of pods are in another namespace than the release',
  { skip },
  (t) => {
    const placed = objectsOf(render(EVERYTHING)).map(({ kind, metadata }) => {
      const { name, namespace } = fieldsOrNone(metadata)
      return { kind, name, namespace }
    })
    const isInRelease = ({ namespace }: { readonly namespace: unknown }) =>
      namespace === 'ridealong-system'
    t.ok(placed.filter(isInRelease).length > 10)
    t.strictSame(
      placed.filter((one) => one.namespace !== undefined && !isInRelease(one)),
      ['Role', 'RoleBinding'].map((kind) => {
        return { kind, name: 'ridealong-doctor', namespace: 'default' }
      }),
    )
    t.end()
  },
)

t.test('the unit tests of the chart pass', { skip }, (t) => {
  const { code, out, err } = run(PROGRAMS['helm-unittest'], ['--strict', CHART])
  t.equal(code, 0, out + err)
  t.end()
})

t.test('every template has a suite of unit tests', (t) => {
  const names = readdirSync(join(CHART, 'tests')).filter((name) => name.endsWith('_test.yaml'))
  const suites = names.map((name) => read(join(CHART, 'tests', name)))
  const templates = readdirSync(join(CHART, 'templates'), { recursive: true, encoding: 'utf8' })
  for (const name of templates.filter((path) => /^[^_].*\.(yaml|txt)$/.test(path))) {
    t.ok(
      suites.some((suite) => suite.includes(name)),
      `a suite of unit tests names ${name}`,
    )
  }
  t.end()
})

/** The built-in metrics with a tool, and values that offer them. */
const TOOLS = [...(await loadCatalog({})).metrics.values()].flatMap(({ name, tool }) =>
  tool === undefined ? [] : name,
)
const WITH_TOOLS = [`tools.metrics={${TOOLS.join(',')}}`]

/** Returns the documents in the ConfigMap of the catalog, by the name of the file. */
function documentsOf(values: readonly string[]): Readonly<Record<string, string>> {
  const objects = objectsOf(render(values))
  const map = objects.find(({ metadata }) => fieldsOrNone(metadata).name === 'ridealong-catalog')
  return fieldsOrNone(map?.data) as Record<string, string>
}

t.test('a built-in metric with a tool is installed if the values name it', { skip }, (t) => {
  const all = Object.keys(documentsOf(WITH_TOOLS))
  const without = Object.keys(documentsOf([]))
  t.strictSame(
    all.filter((name) => !without.includes(name)),
    TOOLS.map((name) => `${name}.yaml`),
  )
  const [first] = TOOLS
  t.notOk(documentsOf([`tools.metrics={${first}}`])['mpi-trace.yaml'], 'the other one is not there')
  t.end()
})

t.test('the catalog that the chart installs has the built-in metrics', { skip }, async (t) => {
  const folder = t.testdir(documentsOf(WITH_TOOLS))
  const [installed, builtIn] = await Promise.all([loadCatalog({ folder }), loadCatalog({})])
  t.same([...installed.metrics.keys()].sort(), [...builtIn.metrics.keys()].sort())
  for (const [name, metric] of builtIn.metrics) {
    const policy = { imagePullPolicy: 'IfNotPresent' }
    const container = { ...metric.container, ...policy }
    const tool = metric.tool && {
      ...metric.tool,
      installer: { ...metric.tool.installer, ...policy },
    }
    t.same(installed.metrics.get(name), { ...metric, container, tool }, `the metric ${name}`)
  }
})

const MOUNTED = [...WITH_TOOLS, 'tools.imageVolumes=true']

t.test('with image volumes, the catalog mounts the built-in tools', { skip }, async (t) => {
  const folder = t.testdir(documentsOf(MOUNTED))
  const [installed, builtIn] = await Promise.all([loadCatalog({ folder }), loadCatalog({})])
  for (const name of TOOLS) {
    const { installer, mounts, ...same } = builtIn.metrics.get(name)?.tool ?? {}
    const imageVolume = { image: installer?.image, imagePullPolicy: 'IfNotPresent' }
    t.strictSame(installed.metrics.get(name)?.tool, {
      ...same,
      imageVolume,
      mounts: mounts?.map((mount) => ({ ...mount, subPath: `tool/${name}` })),
    })
  }
})

/** The document of a metric with a tool, in the form of the built-in documents. */
const PROFILE = `apiVersion: ridealong.dev/v1alpha1
kind: Metric
metadata:
  name: cpu-profile
spec:
  description: samples of the processor time
  privilege: restricted
  tool:
    installer:
      image: ghcr.io/ridealong/tools:0.1.0
      command: [install]
      resources: {limits: {cpu: 100m, memory: 32Mi}}
    sizeLimit: 64Mi
    mounts: [{subPath: cpu-profile-tool, mountPath: /opt/ridealong/cpu-profile}]
    results: {subPath: cpu-profile-results, mountPath: /var/opt/ridealong/cpu-profile}
    variables: [{name: CPUPROFILE, value: /var/opt/ridealong/cpu-profile/cpu}]
  container:
    image: ghcr.io/ridealong/observer:0.1.0
    command: [cpu-profile]
    resources: {limits: {cpu: 100m, memory: 32Mi}}
`

/** Returns the tool in the installed document of PROFILE, and the container of its image holder. */
function installedTool(values: string, image: string) {
  const chart = t.testdir()
  cpSync(CHART, chart, { recursive: true })
  writeFileSync(join(chart, 'files/catalog/cpu-profile.yaml'), PROFILE)
  const flags = values.split(' ').map((value) => `--set=${value}`)
  const shown = ['catalog', 'image-holder'].map((name) => `--show-only=templates/${name}.yaml`)
  const words = ['template', 'a', chart, '--kube-version=1.36.0', ...flags, ...shown]
  const { code, out, err } = run(PROGRAMS['helm-4'], words)
  t.equal(code, 0, err)
  const objects = objectsOf(out)
  const data = objects.map((object) => fieldsOrNone(object.data)['cpu-profile.yaml'])
  const { spec } = fieldsOrNone(parse(String(data.find((text) => text !== undefined))))
  const { tool, container } = fieldsOrNone(spec)
  t.match(container, { image: /^ghcr\.io\/ridealong\/observer:/, imagePullPolicy: 'IfNotPresent' })
  const held = objects.flatMap(({ spec }) => {
    const template = fieldsOrNone(fieldsOrNone(spec).template)
    return listOrNone(fieldsOrNone(template.spec).containers).map(fieldsOrNone)
  })
  return { tool: fieldsOrNone(tool), holder: held.find((one) => one.image === image) }
}

t.test('the image of the built-in tools comes from the values', { skip }, (t) => {
  const fields = 'registry=r.example.org,repository=all,tag=v2,pullPolicy=Always'.split(',')
  const values = ['tools.metrics={cpu-profile}', ...fields.map((field) => `tools.image.${field}`)]
  const { tool, holder } = installedTool(values.join(' '), 'r.example.org/all:v2')
  t.match(tool, {
    installer: { image: 'r.example.org/all:v2', imagePullPolicy: 'Always' },
    mounts: [{ subPath: 'cpu-profile-tool' }],
    results: { subPath: 'cpu-profile-results' },
  })
  t.match(holder, { command: ['hold'], imagePullPolicy: 'Always' }, 'the image is held')
  t.end()
})

t.test('with image volumes, the image of the values is mounted and held', { skip }, (t) => {
  const fields = 'registry=r.example.org,repository=all,tag=v2,pullPolicy=Always'.split(',')
  const mounted = ['tools.metrics={cpu-profile}', 'tools.imageVolumes=true']
  const image = 'r.example.org/all:v2'
  const values = [...mounted, ...fields.map((field) => `tools.image.${field}`)]
  const { tool, holder } = installedTool(values.join(' '), image)
  t.strictSame(tool.imageVolume, { image, imagePullPolicy: 'Always' })
  t.equal(tool.installer, undefined)
  const mount = { subPath: 'tool/cpu-profile', mountPath: '/opt/ridealong/cpu-profile' }
  t.match(tool.mounts, [mount])
  t.match(holder, { command: ['hold'], imagePullPolicy: 'Always' }, 'the image is held')
  t.end()
})

t.test('every expression of the dashboard and the alerts is valid PromQL', { skip }, (t) => {
  const rules = [EVERYTHING, SELF].flatMap((values) => {
    const rule = objectsOf(render(values)).find(({ kind }) => kind === 'PrometheusRule')
    const groups = listOrNone(fieldsOrNone(rule?.spec).groups)
    return groups.flatMap((group) => listOrNone(fieldsOrNone(group).rules))
  })
  const asked = ['dashboard.json', 'run-dashboard.json'].flatMap(expressionsOf)
  const alerted = rules.map((each) => String(fieldsOrNone(each).expr))
  t.ok(alerted.length > 5 && asked.length > 5)
  for (const expression of [...asked, ...alerted]) t.equal(faultOf(expression), undefined)
  t.equal(faultOf('sum by (a) (rate(b[5m])'), 23, 'an invalid expression is detected')
  t.end()
})

t.test('the dashboard and the alerts count failed calls of every webhook', { skip }, (t) => {
  const objects = objectsOf(render(EVERYTHING))
  const configuration = objects.find(({ kind }) => kind === 'MutatingWebhookConfiguration')
  const names = listOrNone(configuration?.webhooks).map((webhook) => fieldsOrNone(webhook).name)
  t.ok(names.length > 1)
  const rule = JSON.stringify(objects.find(({ kind }) => kind === 'PrometheusRule'))
  for (const text of [rule, read(join(CHART, 'files/dashboard.json'))]) {
    const [, selector = ''] = /fail_open_count\{name=~\\"(.*?)\\"/.exec(text) ?? []
    for (const name of names) t.match(name, new RegExp(`^${selector}$`))
  }
  t.end()
})

/** Returns the expressions of a dashboard, with values for the variables of Grafana. */
function expressionsOf(name: string): readonly string[] {
  const { panels } = JSON.parse(read(join(CHART, 'files', name)))
  const targets: { expr: string }[] = panels.flatMap(
    ({ targets }: { targets: { expr: string }[] }) => targets,
  )
  return targets.map(({ expr }) => expr.replaceAll(/\$__(rate_interval|range)/g, '5m'))
}

/** Returns the position of the first error in a PromQL expression; undefined if it is valid. */
function faultOf(expression: string): number | undefined {
  let fault: number | undefined
  parser.parse(expression).iterate({
    enter: ({ type, from }) => {
      if (type.isError) fault ??= from
    },
  })
  return fault
}
