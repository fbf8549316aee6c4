import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { BUILT_IN } from '../../../src/catalog/built-in.ts'
import { loadCatalog } from '../../../src/catalog/load.ts'
import schema from '../../../src/catalog/metric.schema.json' with { type: 'json' }
import { CatalogError } from '../../../src/catalog/parse.ts'
import { DEVICE_MEASURES } from '../../../src/runs/report/measures.ts'

interface Document {
  apiVersion?: unknown
  kind?: unknown
  metadata?: unknown
  spec?: unknown
  [unknown: string]: unknown
}

/** Returns a valid document with some changes, as JSON, which is valid YAML. */
function documentOf(changes: Document = {}, spec: object = {}, container: object = {}): string {
  return JSON.stringify({
    apiVersion: 'ridealong.dev/v1alpha1',
    kind: 'Metric',
    metadata: { name: 'ours' },
    spec: {
      description: 'a metric of the test',
      privilege: 'restricted',
      container: {
        image: 'example.com/observer:1',
        resources: { limits: { cpu: '10m', memory: '16Mi' } },
        ...container,
      },
      ...spec,
    },
    ...changes,
  })
}

const optionOf = (option: object) => documentOf({}, { options: { rate: option } })
const RATE = { type: 'integer', minimum: 1, maximum: 9, default: 3, description: 'seconds' }

/** Returns a document whose rows have one section with these columns. */
const columnsOf = (...columns: object[]) => rowsOf({ sections: [{ ...SECTION, columns }] })
const rowsOf = (rows: object) => documentOf({}, { rows: { format: 'jsonl', ...rows } })
const WATTS = {
  name: 'watts',
  type: 'number',
  unit: 'W',
  behavior: 'gauge',
  meaning: 'electric power',
}
const SECTION = { name: 'power', of: 'pod', description: 'the pod', columns: [WATTS] }

/** Sections with as many columns as possible. */
const LONG_SECTIONS = Array.from({ length: 16 }, (_, section) => ({
  ...SECTION,
  name: `power_${section}`,
  columns: Array.from({ length: 64 }, (_, column) => ({ ...WATTS, name: `watts_${column}` })),
}))

/** Returns a document with a privilege and a security context. */
const contextOf = (privilege: string, securityContext: object) =>
  documentOf({}, { privilege, container: { ...CONTAINER, securityContext } })
const CONTAINER = {
  image: 'example.com/observer:1',
  resources: { limits: { cpu: '10m', memory: '16Mi' } },
}

/** Returns the error from loading a folder with these files. */
async function errorOf(t: Test, files: Record<string, string>): Promise<Error> {
  const folder = t.testdir(files)
  try {
    await loadCatalog({ folder })
  } catch (error) {
    return error as Error
  }
  throw new Error('the catalog loads without an error')
}

t.test(
  'each built-in document matches the schema, and its metric has the name of its file',
  async (t) => {
    const isMetric = new Ajv({ strict: false }).compile(schema)
    const files = readdirSync(BUILT_IN).filter((name) => /^[^_].*\.yaml$/.test(name))
    t.strictSame(files.sort(), [
      ...[
        'cpu-profile.yaml',
        'gpu-nvidia.yaml',
        'gpu.yaml',
        'io-sysstat.yaml',
        'mpi-trace.yaml',
        'nccl-ras.yaml',
        'network.yaml',
        'perf-sysstat.yaml',
        'pressure.yaml',
        'python-profile.yaml',
        'torch-collectives.yaml',
        'torch-trace.yaml',
        'vitals.yaml',
      ],
    ])
    const { metrics } = await loadCatalog({})
    t.strictSame([...metrics.keys()], files.map((name) => name.replace('.yaml', '')).sort())
    for (const name of files) {
      const document = parse(readFileSync(join(BUILT_IN, name), 'utf8'))
      t.equal(isMetric(document), true, `errors in ${name}: ${JSON.stringify(isMetric.errors)}`)
      t.equal(`${document.metadata.name}.yaml`, name)
      t.equal(document.spec.privilege, 'restricted', 'every namespace may use the metric')
    }
  },
)

t.test('the names and bounds of options come from the document', async (t) => {
  const { metrics } = await loadCatalog({})
  const named = (metric: string, variable: string) =>
    [...(metrics.get(metric)?.options ?? [])].find(([, option]) => option.variable === variable)
  const [key, rate] = named('perf-sysstat', 'RIDEALONG_OPTION_RATE') ?? []
  t.match(key, /\brate$/)
  t.match(rate, { type: 'integer', minimum: 1, maximum: 3600, default: 10 })
  t.match(named('io-sysstat', 'RIDEALONG_OPTION_MAX_LOG')?.[0], /\bmax-log$/)
})

t.test('a folder adds the metrics of all YAML documents, and ignores other files', async (t) => {
  const [one, two] = ['one', 'two'].map((name) => documentOf({ metadata: { name } }))
  const folder = t.testdir({
    'a.yaml': `---\n${one}\n---\n${two}\n---\n`,
    'b.yml': documentOf({ metadata: { name: 'three' } }),
    'empty.yaml': '# nothing yet\n',
    'README.md': 'no document',
    '.hidden.yaml': 'no: document',
  })
  mkdirSync(join(folder, '..2026_11_21'))
  const { metrics } = await loadCatalog({ folder })
  t.strictSame(
    [...metrics.keys()],
    [
      'cpu-profile',
      'gpu',
      'gpu-nvidia',
      'io-sysstat',
      'mpi-trace',
      'nccl-ras',
      'network',
      'one',
      'perf-sysstat',
      'pressure',
      'python-profile',
      'three',
      'torch-collectives',
      'torch-trace',
      'two',
      'vitals',
    ],
  )
})

t.test('a folder with all metrics of a catalog is read without the built-in ones', async (t) => {
  const folder = t.testdir({ 'x.yaml': documentOf({ metadata: { name: 'ours' } }) })
  const { metrics } = await loadCatalog({ folder, isWhole: true })
  t.strictSame([...metrics.keys()], ['ours'])
})

t.test('a document of the folder replaces a built-in metric of the same name', async (t) => {
  const folder = t.testdir({ 'x.yaml': documentOf({ metadata: { name: 'perf-sysstat' } }) })
  const { metrics } = await loadCatalog({ folder })
  t.strictSame(
    [...metrics.keys()],
    [
      ...['cpu-profile', 'gpu', 'gpu-nvidia', 'io-sysstat', 'mpi-trace', 'nccl-ras', 'network'],
      ...[
        'perf-sysstat',
        'pressure',
        'python-profile',
        'torch-collectives',
        'torch-trace',
        'vitals',
      ],
    ],
  )
  t.equal(metrics.get('perf-sysstat')?.description, 'a metric of the test')
  t.equal(metrics.get('perf-sysstat')?.container.image, 'example.com/observer:1')
})

t.test(
  'a document without rows keeps the rows of the built-in document that it replaces',
  async (t) => {
    const named = (name: string, spec: object = {}) => documentOf({ metadata: { name } }, spec)
    const rows = { format: 'jsonl', sections: [SECTION] }
    const folder = t.testdir({
      'a.yaml': named('ours', { rows }),
      'b.yaml': named('plain'),
      'c.yaml': named('perf-sysstat'),
      'd.yaml': named('io-sysstat', { rows }),
    })
    const { metrics } = await loadCatalog({ folder })
    t.strictSame(metrics.get('ours')?.rows, rows)
    t.equal(metrics.get('plain')?.rows, undefined)
    t.equal(metrics.get('perf-sysstat')?.rows?.format, 'pidstat', 'the built-in rows are kept')
    t.strictSame(metrics.get('io-sysstat')?.rows, rows)
  },
)

t.test('an endpoint of the live export has a host, a port and a path', async (t) => {
  const rows = { format: 'jsonl', sections: [SECTION] }
  for (const endpoint of [
    'http://collector',
    'http://otel.monitoring.svc:4318/',
    'http://10.0.0.1:9090/api/v1/otlp',
    'http://[fd00::1]:65535/a/b/',
  ]) {
    const folder = t.testdir({ 'x.yaml': documentOf({}, { rows, otlp: { endpoint } }) })
    const { metrics } = await loadCatalog({ folder })
    t.strictSame(metrics.get('ours')?.liveExport, { endpoint })
  }
})

t.test('the observer image replaces only the image of the built-in metrics', async (t) => {
  const folder = t.testdir({ 'x.yaml': documentOf() })
  const observerImage = 'example.com/mirror/observer:2'
  const { metrics } = await loadCatalog({ folder, observerImage })
  t.equal(metrics.get('perf-sysstat')?.container.image, observerImage)
  t.equal(metrics.get('io-sysstat')?.container.image, observerImage)
  t.equal(metrics.get('ours')?.container.image, 'example.com/observer:1')
  t.strictSame(
    metrics.get('perf-sysstat')?.container.command,
    ['perf-sysstat'],
    'the command is unchanged',
  )
})

t.test('the revision is eight digits, and changes only with the content', async (t) => {
  const folder = t.testdir({ 'x.yaml': documentOf() })
  const revisionOf = async (sources = {}) => (await loadCatalog({ folder, ...sources })).revision
  const revisions = [(await loadCatalog({})).revision, await revisionOf()]
  revisions.push(await revisionOf({ observerImage: 'example.com/observer:2' }))
  writeFileSync(join(folder, 'x.yaml'), documentOf({}, { description: 'another' }))
  revisions.push(await revisionOf())
  for (const revision of revisions) t.match(revision, /^[0-9a-f]{8}$/)
  t.equal(new Set(revisions).size, revisions.length, 'each revision is different')
  writeFileSync(join(folder, 'x.yaml'), `# a remark\n${documentOf({}, { description: 'another' })}`)
  t.equal(await revisionOf(), revisions.at(-1), 'a comment is not content')
  t.equal(await revisionOf(), revisions.at(-1))
})

/** The defect, the document, and the pattern of the error, which names the place and the reason. */
const WRONG: readonly (readonly [string, string, RegExp])[] = [
  ['an unknown key', documentOf({ extra: 1 }), /metric ours: the document must not have extra$/],
  ['an unknown key of the spec', documentOf({}, { extra: 1 }), /ours: spec must not have extra$/],
  [
    'a probe',
    documentOf({}, {}, { livenessProbe: {} }),
    /ours: spec\.container must not have livenessProbe$/,
  ],
  ['a port', documentOf({}, {}, { ports: [] }), /ours: spec\.container must not have ports$/],
  [
    'another apiVersion',
    documentOf({ apiVersion: 'v1' }),
    /apiVersion must be ridealong\.dev\/v1alpha1$/,
  ],
  ['another kind', documentOf({ kind: 'Pod' }), /kind must be Metric$/],
  [
    'a description that is a number',
    documentOf({}, { description: 7 }),
    /ours: spec\.description must be string$/,
  ],
  [
    'no description',
    documentOf({}, { description: undefined }),
    /ours: spec must have required property 'description'$/,
  ],
  [
    'an unknown privilege',
    documentOf({}, { privilege: 'root' }),
    /ours: spec\.privilege must be one of restricted, baseline, privileged$/,
  ],
  [
    'a command that is a string',
    documentOf({}, {}, { command: 'sh' }),
    /ours: spec\.container\.command must be array$/,
  ],
  [
    'no image',
    documentOf({}, {}, { image: undefined }),
    /ours: spec\.container must have required property 'image'$/,
  ],
  [
    'an image with a blank',
    documentOf({}, {}, { image: 'a b' }),
    /ours: spec\.container\.image must match pattern/,
  ],
  [
    'no limits',
    documentOf({}, {}, { resources: {} }),
    /ours: spec\.container\.resources must have required property 'limits'$/,
  ],
  [
    'resource requests',
    documentOf({}, {}, { resources: { ...CONTAINER.resources, requests: {} } }),
    /ours: spec\.container\.resources must not have requests$/,
  ],
  [
    'a limit that is not a quantity',
    documentOf({}, {}, { resources: { limits: { cpu: '10m', memory: 'much' } } }),
    /ours: spec\.container\.resources\.limits\.memory must match pattern/,
  ],
  [
    'a limit of zero',
    documentOf({}, {}, { resources: { limits: { cpu: '0', memory: '1Mi' } } }),
    /ours: spec\.container\.resources\.limits\.cpu must match pattern/,
  ],
  ['no name', documentOf({ metadata: {} }), /metadata must have required property 'name'$/],
  [
    'a name with a capital letter',
    documentOf({ metadata: { name: 'Ours' } }),
    /metric Ours: metadata\.name must match pattern/,
  ],
  [
    'a name with a dot',
    documentOf({ metadata: { name: 'a.b' } }),
    /metric a\.b: metadata\.name must match pattern/,
  ],
  [
    'a name with a comma',
    documentOf({ metadata: { name: 'a,b' } }),
    /metric a,b: metadata\.name must match pattern/,
  ],
  [
    'a name of 64 letters',
    documentOf({ metadata: { name: 'a'.repeat(64) } }),
    /metadata\.name must NOT have more than 63 characters$/,
  ],
  [
    'a name that is a number',
    documentOf({ metadata: { name: 7 } }),
    /x\.yaml: metadata\.name must be string$/,
  ],
  [
    'a label',
    documentOf({ metadata: { name: 'ours', labels: {} } }),
    /ours: metadata must not have labels$/,
  ],
  [
    'an integer option without bounds',
    optionOf({ ...RATE, maximum: undefined }),
    /ours: spec\.options\.rate must have required property 'maximum'$/,
  ],
  [
    'an option of an unknown type',
    optionOf({ ...RATE, type: 'float' }),
    /ours: spec\.options\.rate\.type must be one of integer, boolean, string$/,
  ],
  [
    'an option with an unknown key',
    optionOf({ ...RATE, step: 2 }),
    /ours: spec\.options\.rate must not have step$/,
  ],
  [
    'rows in an unknown format',
    rowsOf({ format: 'csv', sections: [SECTION] }),
    /ours: spec\.rows\.format must be one of jsonl, pidstat, iostat$/,
  ],
  [
    'rows without a section',
    rowsOf({ sections: [] }),
    /ours: spec\.rows\.sections must NOT have fewer than 1 items$/,
  ],
  [
    'more than 16 sections',
    rowsOf({ sections: Array(17).fill(SECTION) }),
    /ours: spec\.rows\.sections must NOT have more than 16 items$/,
  ],
  [
    'more than 64 columns',
    columnsOf(...Array(65).fill(WATTS)),
    /ours: spec\.rows\.sections\.0\.columns must NOT have more than 64 items$/,
  ],
  [
    'two sections of the same name',
    rowsOf({ sections: [SECTION, SECTION] }),
    /ours: spec\.rows\.sections must not have power twice$/,
  ],
  [
    'two columns of the same name',
    columnsOf(WATTS, WATTS),
    /ours: spec\.rows\.sections: section power must not have column watts twice$/,
  ],
  [
    'a column with the reserved name pod_index',
    columnsOf({ ...WATTS, name: 'pod_index' }),
    /ours: spec\.rows\.sections\.0\.columns\.0\.name must NOT be valid$/,
  ],
  [
    'a column with a capital letter',
    columnsOf({ ...WATTS, name: 'Watts' }),
    /ours: spec\.rows\.sections\.0\.columns\.0\.name must match pattern/,
  ],
  [
    'an unknown unit',
    columnsOf({ ...WATTS, unit: 'horsepower' }),
    /ours: spec\.rows\.sections\.0\.columns\.0\.unit must be one of percent, /,
  ],
  [
    'a unit without a behavior',
    columnsOf({ ...WATTS, behavior: undefined }),
    /columns\.0 must have property behavior when property unit is present$/,
  ],
  [
    'a text column with a unit',
    columnsOf({ ...WATTS, type: 'text' }),
    /ours: spec\.rows\.sections\.0\.columns\.0 must not have (unit|behavior)$/,
  ],
  [
    'a section about an unknown thing',
    rowsOf({ sections: [{ ...SECTION, of: 'node' }] }),
    /ours: spec\.rows\.sections\.0\.of must be one of process, thread, container, /,
  ],
  [
    'a section about a pod in the format pidstat',
    rowsOf({ format: 'pidstat', sections: [SECTION] }),
    /ours: spec\.rows\.sections must be one section with of: process, because the format is pidstat$/,
  ],
  ...[
    'https://collector:4318',
    'collector:4318',
    'http://user:secret@collector',
    'http://a/?b',
  ].map(
    (endpoint) =>
      [
        `the endpoint ${endpoint}`,
        documentOf({}, { otlp: { endpoint } }),
        /ours: spec\.otlp\.endpoint must be http:\/\/HOST:PORT of a receiver, .* for https, use a /,
      ] as const,
  ),
  [
    'an interval of no seconds',
    documentOf({}, { otlp: { endpoint: 'http://a', interval: 0 } }),
    /ours: spec\.otlp\.interval must be >= 1$/,
  ],
  [
    'a live export without an endpoint',
    documentOf({}, { otlp: { interval: 5 } }),
    /ours: spec\.otlp must have required property 'endpoint'$/,
  ],
  [
    'rows that do not fit into the environment',
    documentOf(
      {},
      {
        otlp: { endpoint: 'http://a' },
        rows: { format: 'jsonl', sections: LONG_SECTIONS },
      },
    ),
    /ours: spec\.rows has too many columns for the live export: it takes \d+ characters/,
  ],
  [
    'a quantity that is no name of OpenTelemetry',
    columnsOf({ ...WATTS, quantity: 'Power' }),
    /columns\.0\.quantity must match pattern/,
  ],
  [
    'a quantity of a key',
    columnsOf({ name: 'pid', type: 'number', key: true, quantity: 'process.pid', meaning: 'id' }),
    /columns\.0 must have property behavior when property quantity is present$/,
  ],
  [
    'a quantity that repeats the name in OpenTelemetry',
    columnsOf({ ...WATTS, otlp: { name: 'hw.power' }, quantity: 'hw.power' }),
    /section power: column watts must not repeat in quantity what its otlp says$/,
  ],
  [
    'a quantity whose attributes are not sorted',
    columnsOf({ ...WATTS, quantity: 'hw.power{b=1,a=2}' }),
    /section power: the attributes in the quantity of column watts must be sorted: a=2,b=1$/,
  ],
  [
    'a summary with the name of a section',
    rowsOf({ sections: [SECTION], summary: [SECTION] }),
    /ours: spec\.rows\.sections must not have power twice$/,
  ],
  [
    'an attribute in capitals',
    columnsOf({ ...WATTS, otlp: { attributes: { Mode: 'x' } } }),
    /columns\.0\.otlp\.attributes must match pattern|property name must be valid/,
  ],
  [
    'an option with the name of the annotation that selects pods',
    documentOf({}, { options: { pods: RATE } }),
    /ours: spec\.options /,
  ],
  [
    'an option with a capital letter',
    documentOf({}, { options: { Rate: RATE } }),
    /ours: spec\.options /,
  ],
  [
    'a default above its bounds',
    optionOf({ ...RATE, default: 10 }),
    /ours: spec\.options\.rate\.default must be an integer from 1 to 9$/,
  ],
  [
    'a default below its bounds',
    optionOf({ ...RATE, default: 0 }),
    /ours: spec\.options\.rate\.default must be an integer from 1 to 9$/,
  ],
  [
    'a default of another type',
    optionOf({ ...RATE, default: '3' }),
    /ours: spec\.options\.rate\.default must be integer$/,
  ],
  [
    'a default that is not one of the choices',
    optionOf({ type: 'string', enum: ['a', 'b'], default: 'c', description: 'x' }),
    /ours: spec\.options\.rate\.default must be one of a, b$/,
  ],
  [
    'a minimum above the maximum',
    optionOf({ ...RATE, minimum: 9, maximum: 1 }),
    /ours: spec\.options\.rate\.default must be an integer from 9 to 1$/,
  ],
  [
    'a security context and the privilege restricted',
    contextOf('restricted', { runAsUser: 1000 }),
    /ours: spec\.container must NOT be valid$/,
  ],
  [
    'a security context above its privilege',
    contextOf('baseline', { capabilities: { add: ['SYS_PTRACE'] } }),
    /ours: spec\.container\.securityContext needs more than .* baseline: it adds the capability SYS_PTRACE$/,
  ],
  [
    'a privileged container with the privilege baseline',
    contextOf('baseline', { privileged: true }),
    /ours: spec\.container\.securityContext needs more than the privilege baseline: it is privileged$/,
  ],
  [
    'an unconfined container with the privilege baseline',
    contextOf('baseline', { seccompProfile: { type: 'Unconfined' } }),
    /needs more than the privilege baseline: its seccomp profile is Unconfined$/,
  ],
  [
    'a privileged container without privilege escalation',
    contextOf('privileged', { privileged: true, allowPrivilegeEscalation: false }),
    /ours: spec\.container\.securityContext\.allowPrivilegeEscalation cannot be false with privileged or SYS_ADMIN$/,
  ],
  [
    'SYS_ADMIN without privilege escalation',
    contextOf('privileged', {
      capabilities: { add: ['SYS_ADMIN'] },
      allowPrivilegeEscalation: false,
    }),
    /securityContext\.allowPrivilegeEscalation cannot be false with privileged or SYS_ADMIN$/,
  ],
  [
    'user 0 and runAsNonRoot',
    contextOf('baseline', { runAsNonRoot: true, runAsUser: 0 }),
    /ours: spec\.container\.securityContext\.runAsNonRoot cannot be true for user 0$/,
  ],
  [
    'an invalid capability name',
    contextOf('privileged', { capabilities: { add: ['sys-admin'] } }),
    /ours: spec\.container\.securityContext\.capabilities\.add\.0 must match pattern/,
  ],
  [
    'volume mounts',
    documentOf({}, {}, { volumeMounts: [] }),
    /ours: spec\.container must not have volumeMounts$/,
  ],
  ['a list instead of an object', '[]', /x\.yaml: the document must be object$/],
  ['text instead of an object', 'hello', /x\.yaml: the document must be object$/],
  [
    'a repeated key',
    'kind: Metric\nkind: Metric\n',
    /x\.yaml: document 1, line 2: the key kind is there twice/,
  ],
  [
    'lists that are nested too deeply',
    '['.repeat(20_000),
    /x\.yaml: document 1, line 1: nested more than 500 levels deep/,
  ],
  ['invalid YAML', 'a: [1', /x\.yaml: \S+ /],
  ['an alias without an anchor', 'a: *nothing', /x\.yaml: .*nothing/],
  [
    'aliases that expand to a huge document',
    [
      `a: &a [${'x,'.repeat(99)}]`,
      `b: &b [${'*a,'.repeat(99)}]`,
      `c: &c [${'*b,'.repeat(99)}]`,
      `d: [${'*c,'.repeat(99)}]`,
    ].join('\n'),
    /x\.yaml: .*alias/i,
  ],
  [
    'a second metric of the same name',
    `${documentOf()}\n---\n${documentOf()}`,
    /x\.yaml: metric ours is defined twice$/,
  ],
]

for (const [what, text, message] of WRONG) {
  t.test(
    `a document with ${what} is refused, and the error names file, place and reason`,
    async (t) => {
      const error = await errorOf(t, { 'x.yaml': text })
      t.ok(error instanceof CatalogError, `a CatalogError, not a ${error.name}`)
      t.ok(
        error.message.startsWith(join(t.testdirName, 'x.yaml: ')),
        `the message begins with the file: ${error.message}`,
      )
      t.match(error.message, message)
      t.notMatch(error.message, '\n')
    },
  )
}

t.test('a metric that two files define is an error', async (t) => {
  const error = await errorOf(t, { 'a.yaml': documentOf(), 'b.yaml': documentOf() })
  t.ok(error instanceof CatalogError)
  t.match(error.message, /b\.yaml: metric ours is defined twice$/)
})

t.test('one invalid document makes the whole folder invalid', async (t) => {
  const error = await errorOf(t, {
    'a.yaml': documentOf({ metadata: { name: 'a' } }),
    'b.yaml': `${documentOf({ metadata: { name: 'b' } })}\n---\nkind: Metric\n`,
  })
  t.match(error.message, /b\.yaml: /)
})

t.test(
  'a missing folder, or a file instead of a folder, is an error that names the path',
  async (t) => {
    const folder = t.testdir({ file: '' })
    await t.rejects(loadCatalog({ folder: join(folder, 'none') }), { message: /none/ })
    await t.rejects(loadCatalog({ folder: join(folder, 'file') }), { message: /file/ })
  },
)

t.test('a folder named like a YAML file is skipped, or the error names the folder', async (t) => {
  const folder = t.testdir({ 'folder.yaml': {}, 'x.yaml': documentOf() })
  const [reason = ''] = await loadCatalog({ folder }).then(
    ({ metrics }) => [metrics.has('ours') ? 'folder.yaml' : ''],
    (error: Error) => [error.message],
  )
  t.match(reason, 'folder.yaml')
})

const HOLDS: readonly (readonly [string, string])[] = [
  [
    'an option with a list of choices',
    optionOf({ type: 'string', enum: ['a', 'b c'], default: 'b c', description: 'x' }),
  ],
  ['a boolean option', optionOf({ type: 'boolean', default: true, description: 'x' })],
  ['a default equal to the minimum', optionOf({ ...RATE, default: 1 })],
  ['a default equal to the maximum', optionOf({ ...RATE, default: 9 })],
  ['a name of one digit', documentOf({ metadata: { name: '7' } })],
  ['a name of 63 letters', documentOf({ metadata: { name: 'a'.repeat(63) } })],
  [
    'a security context within baseline',
    contextOf('baseline', { capabilities: { add: ['KILL'] } }),
  ],
  [
    'a security context with SYS_PTRACE',
    contextOf('privileged', { runAsUser: 0, capabilities: { add: ['SYS_PTRACE'] } }),
  ],
  ['a privileged security context', contextOf('privileged', { privileged: true })],
  ['an empty security context', contextOf('baseline', {})],
  [
    'a command, arguments and environment variables',
    documentOf({}, {}, { command: ['a'], args: ['b'], env: [{ name: 'A', value: '' }] }),
  ],
]

for (const [what, text] of HOLDS) {
  t.test(`a document with ${what} is valid`, async (t) => {
    const { metrics } = await loadCatalog({ folder: t.testdir({ 'x.yaml': text }) })
    t.equal(metrics.size, 14)
  })
}

t.test('the MB/s of iostat are MiB/s', async (t) => {
  // iostat divides sectors of 512 bytes by 2048 (sysstat iostat.c, write_disk_stat_header).
  const { spec } = parse(readFileSync(join(BUILT_IN, 'io-sysstat.yaml'), 'utf8'))
  const columns: readonly { readonly name: string; readonly unit?: string }[] =
    spec.rows.sections.flatMap(({ columns }: { columns: unknown[] }) => columns)
  t.strictSame(
    columns.filter(({ name }) => /^[rwd]mb_s$/.test(name)).map(({ name, unit }) => [name, unit]),
    ['rmb_s', 'wmb_s', 'dmb_s'].map((name) => [name, 'MiB/s']),
  )
  const { unit } = DEVICE_MEASURES.find(({ column }) => column === 'rmb_s') ?? {}
  t.equal(unit, 'MiB/s', 'the report has the same unit')
})
