import t from 'tap'
import { readNamespace } from '../../../../src/core/namespaces/namespace.ts'

const STRICT = {
  name: 'hpc',
  annotations: new Map(),
  requestedSince: undefined,
  enforce: undefined,
  enforceVersion: undefined,
  privilege: 'restricted',
  revision: undefined,
  movedFrom: undefined,
  allowsTools: false,
  limitRanges: [],
  quotas: [],
}

t.test(
  'a namespace without labels enforces no level and grants only the privilege restricted',
  async (t) => {
    const rows: unknown[] = [
      undefined,
      null,
      'hpc',
      [],
      {},
      { metadata: null },
      { metadata: {} },
      { metadata: [] },
      { metadata: { labels: null, annotations: null } },
      { metadata: { labels: [], annotations: [] } },
      { metadata: { labels: 'x', annotations: 'y' } },
    ]
    for (const object of rows)
      t.strictSame(readNamespace('hpc', object), STRICT, JSON.stringify(object))
  },
)

t.test('the labels name the revision and the former revision of a namespace', async (t) => {
  const read = (labels: object) => readNamespace('hpc', { metadata: { labels } })
  const canary = { 'ridealong.dev/revision': 'canary' }
  const from = (revision: string) => ({ 'ridealong.dev/moved-from': revision })
  t.match(read(canary), { revision: 'canary', movedFrom: undefined })
  t.match(read(from('canary')), { revision: undefined, movedFrom: 'canary' })
  t.equal(read(from('default')).movedFrom, undefined, 'the namespace is of the default release')
  t.equal(read({ ...canary, ...from('canary') }).movedFrom, undefined)
})

t.test('a level is one of three values, and any other value counts as restricted', async (t) => {
  const rows: [unknown, string][] = [
    ['privileged', 'privileged'],
    ['baseline', 'baseline'],
    ['restricted', 'restricted'],
    ['Privileged', 'restricted'],
    ['', 'restricted'],
    ['latest', 'restricted'],
    ['__proto__', 'restricted'],
    [null, 'restricted'],
    [7, 'restricted'],
    [['privileged'], 'restricted'],
  ]
  for (const [written, level] of rows) {
    const labels = {
      'pod-security.kubernetes.io/enforce': written,
      'ridealong.dev/privilege': written,
    }
    const { enforce, privilege } = readNamespace('hpc', { metadata: { labels } })
    t.strictSame([enforce, privilege], [level, level], JSON.stringify(written))
  }
})

t.test(
  'the enforced level and the granted privilege are read from two different labels',
  async (t) => {
    const labels = {
      'pod-security.kubernetes.io/enforce': 'baseline',
      'pod-security.kubernetes.io/warn': 'restricted',
      'pod-security.kubernetes.io/enforce-version': 'v1.30',
      'pod-security.kubernetes.io/warn-version': 'v1.29',
      'ridealong.dev/privilege': 'privileged',
    }
    t.match(readNamespace('hpc', { metadata: { labels } }), {
      enforce: 'baseline',
      enforceVersion: 30,
      privilege: 'privileged',
    })
    const annotations = {
      'pod-security.kubernetes.io/enforce': 'baseline',
      'ridealong.dev/privilege': 'privileged',
    }
    t.match(
      readNamespace('hpc', { metadata: { annotations } }),
      { enforce: undefined, privilege: 'restricted' },
      'an annotation is not a label',
    )
  },
)

t.test('a namespace allows tools only with the label ridealong.dev/tools: "true"', async (t) => {
  const rows: [unknown, boolean][] = [
    ['true', true],
    ['True', false],
    ['yes', false],
    ['', false],
    ['false', false],
    [true, false],
    [['true'], false],
    [undefined, false],
  ]
  for (const [label, allowsTools] of rows) {
    const labels = { 'ridealong.dev/tools': label }
    t.match(readNamespace('hpc', { metadata: { labels } }), { allowsTools }, `label: ${label}`)
  }
  const annotations = { 'ridealong.dev/tools': 'true' }
  t.match(
    readNamespace('hpc', { metadata: { annotations } }),
    { allowsTools: false },
    'an annotation is not a label',
  )
})

t.test("only Ridealong's annotations of a namespace are kept", async (t) => {
  const annotations = {
    'ridealong.dev/inject': 'perf-sysstat',
    'perf-sysstat.ridealong.dev/rate': '5',
    'example.com/x': 'y',
  }
  const { name, annotations: kept } = readNamespace('lab', { metadata: { name: 'x', annotations } })
  t.equal(name, 'lab', 'the name comes from the request')
  t.strictSame([...kept.keys()], ['ridealong.dev/inject', 'perf-sysstat.ridealong.dev/rate'])
})

t.test(
  'requestedSince is the earliest time of the managers that own the annotation inject',
  async (t) => {
    const owner = (time: string, annotation = 'ridealong.dev/inject') => ({
      time,
      fieldsV1: { 'f:metadata': { 'f:annotations': { [`f:${annotation}`]: {} } } },
    })
    const since = (managedFields: unknown) =>
      readNamespace('hpc', { metadata: { managedFields } }).requestedSince
    const [early, late] = ['2026-01-01T12:00:00Z', '2026-01-01T12:00:05Z']
    t.equal(since([owner(late), owner(early)]), early)
    t.equal(since([owner(late), owner(early, 'team')]), late)
    t.equal(since([owner(early, 'team')]), undefined)
  },
)
