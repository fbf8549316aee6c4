import t from 'tap'
import { loadCatalog } from '../../../../src/catalog/load.ts'
import type { Catalog, Metric } from '../../../../src/core/catalog.ts'
import { differencesFrom } from '../../../../src/core/rules/observer-difference.ts'
import { quantityOf, thingOf } from '../../../../src/core/rules/quantity.ts'
import { subsetsOf } from '../../../properties/subsets.ts'
import { type ContainerObject, podOf, ride, type Texts, variable } from '../build.ts'

const catalog = exporting(await loadCatalog({}))

/** Returns a catalog whose metrics have a live export, with changes to some of them. */
function exporting(loaded: Catalog, changes: Readonly<Record<string, Partial<Metric>>> = {}) {
  const liveExport = { endpoint: 'http://collector:4318' }
  const metrics = [...loaded.metrics].map(([name, metric]) => {
    return [name, { ...metric, liveExport, ...changes[name] }] as const
  })
  return { ...loaded, metrics: new Map(metrics) }
}

const LABELS = { 'ridealong.dev/tools': 'true' }

function inject(metrics: readonly string[], annotations: Texts = {}, offered = catalog) {
  const pod = podOf({ 'ridealong.dev/inject': metrics.join(','), ...annotations })
  return ride(pod, { catalog: offered, labels: LABELS })
}

interface Exported {
  readonly observer: string
  /** The thing and the quantity, as the catalog describes the column. */
  readonly measurement: string
  /** What the observer is told about the column. */
  readonly column: string
}

/**
 * Returns the columns that the observers of a pod export. A column without a quantity measures what
 * its exported name says.
 */
function exportedBy(observers: Readonly<Record<string, ContainerObject>>): readonly Exported[] {
  return Object.values(observers).flatMap((observer) => {
    const described = JSON.parse(variable(observer, 'RIDEALONG_OTLP_ROWS') ?? '{}')
    const { sections = [], summary = [] } = catalog.metrics.get(observer.name)?.rows ?? {}
    return [...sections, ...summary].flatMap((section) => {
      const found = [...described.sections, ...(described.summary ?? [])]
      const { values } = found.find(({ name }) => name === section.name)
      return section.columns.flatMap((column) => {
        const exported = values.find((one: { column: string }) => one.column === column.name)
        if (exported === undefined) return []
        const quantity = quantityOf(column) ?? exported.name
        const measurement = `${thingOf(section)} ${quantity}`
        return [{ observer: observer.name, measurement, column: JSON.stringify(exported) }]
      })
    })
  })
}

const idOf = (exported: Exported | undefined) => exported?.measurement ?? ''
const isSame = (a: Exported, b: Exported) =>
  a.measurement === b.measurement && a.column === b.column

const NAMES = [...catalog.metrics.keys()]
const ALONE = new Map(NAMES.map((name) => [name, exportedBy(inject([name]).observers)]))

t.test('of any set of metrics, one exports each quantity, as it does alone', async (t) => {
  for (const subset of subsetsOf(NAMES)) {
    const { word, observers } = inject(subset)
    if (subset.length > 0) t.equal(word, 'injected', subset.join())
    const exported = exportedBy(observers)
    for (const one of exported) t.ok(ALONE.get(one.observer)?.some((own) => isSame(own, one)))
    const measured = new Set(subset.flatMap((name) => ALONE.get(name) ?? []).map(idOf))
    t.strictSame(new Set(exported.map(idOf)), measured, `${subset.join()}: no quantity is lost`)
    for (const columns of Map.groupBy(exported, idOf).values())
      t.equal(
        new Set(columns.map(({ observer }) => observer)).size,
        1,
        `${subset.join()}: ${idOf(columns[0])}`,
      )
  }
})

t.test('no set of metrics exports a name of the same thing twice', async (t) => {
  for (const subset of subsetsOf(NAMES)) {
    const exported = exportedBy(inject(subset).observers)
    const owners = Map.groupBy(exported, ({ measurement, column }) => {
      const { name, attributes } = JSON.parse(column)
      return JSON.stringify([measurement.split(' ')[0], name, attributes])
    })
    for (const [name, own] of owners)
      t.equal(new Set(own.map(({ observer }) => observer)).size, 1, `${subset.join()}: ${name}`)
  }
})

/** The columns of pidstat that vitals does not have. */
const ONLY_PIDSTAT = [
  'percent_guest',
  'usr_ms',
  'system_ms',
  'guest_ms',
  'kb_ccwr_s',
  'percent_mem',
  'minflt_nr',
  'majflt_nr',
  'stksize',
  'stkref',
]

t.test('vitals exports the names of the three metrics that it replaces', async (t) => {
  const namesOf = (exported: readonly Exported[]) =>
    new Set(exported.map(({ column }) => JSON.parse(column).name))
  const three = namesOf(exportedBy(inject(['perf-sysstat', 'pressure', 'network']).observers))
  const alone = namesOf(exportedBy(inject(['vitals']).observers))
  t.strictSame(
    [...three].filter((name) => !alone.has(name)),
    ONLY_PIDSTAT.map((name) => `ridealong.perf_sysstat.process.${name}`),
  )
})

/** Returns the observer that exports a quantity of processes. */
function ownerOf(quantity: string, { observers }: ReturnType<typeof inject>): string | undefined {
  return exportedBy(observers).find((one) => one.measurement === `process ${quantity}`)?.observer
}

t.test('the most complete measurement is exported', async (t) => {
  const all = inject(NAMES)
  t.equal(ownerOf('process.cpu.time', all), 'perf-sysstat')
  t.equal(ownerOf('ridealong.process.run_delay', all), 'pressure', 'perf-sysstat has no total')
  t.equal(ownerOf('process.cpu.time', inject(['cpu-profile', 'pressure'])), 'pressure', 'counted')
})

t.test('a metric that applies only to other pods exports nothing', async (t) => {
  const pod = {
    'ridealong.dev/inject': 'perf-sysstat,pressure',
    'perf-sysstat.ridealong.dev/pods': '0',
    'batch.kubernetes.io/job-completion-index': '1',
  }
  const { observers } = ride(podOf(pod), { catalog, labels: LABELS })
  t.strictSame(Object.keys(observers), ['pressure'])
  t.ok(exportedBy(observers).some((one) => one.measurement === 'process process.cpu.time'))
})

t.test('a metric without live export does not keep others from exporting', async (t) => {
  const offered = exporting(catalog, { 'perf-sysstat': { liveExport: undefined } })
  const { observers } = inject(['perf-sysstat', 'pressure'], {}, offered)
  const { pressure } = observers
  t.match(variable(pressure as ContainerObject, 'RIDEALONG_OTLP_ROWS'), /process\.cpu\.time/)
})

t.test('a metric of the same names that declares no quantity keeps its columns', async (t) => {
  const rows = {
    format: 'jsonl',
    sections: [
      {
        name: 'process',
        of: 'process',
        description: 'processes',
        columns: [
          { name: 'program', type: 'text', key: true, meaning: 'a key' },
          { name: 'cpu_seconds', type: 'number', unit: 's', behavior: 'counter', meaning: 'own' },
        ],
      },
    ],
  } as const
  const own = { ...(catalog.metrics.get('pressure') as Metric), name: 'a-site', rows }
  const offered = { ...catalog, metrics: new Map([['a-site', own], ...catalog.metrics]) }
  const { observers } = inject(['a-site', 'perf-sysstat'], {}, offered)
  t.match(
    variable(observers['a-site'] as ContainerObject, 'RIDEALONG_OTLP_ROWS'),
    /ridealong\.a_site\.process\.cpu_seconds/,
  )
  const alone = inject(['perf-sysstat'], {}, offered).observers
  t.strictSame(exportedBy({ p: observers['perf-sysstat'] as ContainerObject }), exportedBy(alone))
})

t.test('a later call leaves out what the observers of the pod export', async (t) => {
  const first = inject(['pressure']).pod
  const annotations = {
    ...first.metadata.annotations,
    'ridealong.dev/inject': 'pressure,perf-sysstat',
  }
  const again = { ...first, metadata: { ...first.metadata, annotations } }
  const { observers, word, pod } = ride(again, { catalog, labels: LABELS })
  t.equal(word, 'injected')
  t.strictSame(Object.keys(observers), ['perf-sysstat'])
  const pressure = pod.spec.initContainers?.find(({ name }) => name === 'pressure')
  t.equal(ownerOf('process.cpu.time', { observers } as never), undefined)
  t.match(variable(pressure as ContainerObject, 'RIDEALONG_OTLP_ROWS'), /process\.cpu\.time/)
  t.equal(ride(pod, { catalog, labels: LABELS }).word, 'already-injected')
})

t.test('a pod with columns left out is as the catalog would make it', async (t) => {
  for (const subset of subsetsOf(NAMES)) {
    if (subset.length === 0) continue
    const { pod } = inject(subset)
    t.equal(ride(pod, { catalog, labels: LABELS }).word, 'already-injected', subset.join())
    t.strictSame(differencesFrom(catalog, pod.spec as never, subset), [])
  }
})

t.test('a forged variable of an observer does not stop an injection', async (t) => {
  const first = inject(['pressure']).pod
  for (const value of ['{', '[]', '{"sections":[{"values":"x"}]}', '7']) {
    const initContainers = first.spec.initContainers?.map((container) => ({
      ...container,
      env: [{ name: 'RIDEALONG_OTLP_ROWS', value }],
    }))
    const annotations = {
      ...first.metadata.annotations,
      'ridealong.dev/inject': 'pressure,perf-sysstat',
    }
    const forged = { ...first, metadata: { annotations }, spec: { ...first.spec, initContainers } }
    const { observers } = ride(forged, { catalog, labels: LABELS })
    t.strictSame(Object.keys(observers), ['perf-sysstat'], value)
  }
})
