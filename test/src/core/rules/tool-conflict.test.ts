import t from 'tap'
import {
  findListProblem,
  findToolConflict,
  findTools,
  type NamedTool,
  overlaps,
} from '../../../../src/core/rules/tool-conflict.ts'
import type { Tool } from '../../../../src/core/tools/tool.ts'
import { CATALOG, type Json } from '../build.ts'

const profile = CATALOG.metrics.get('cpu-profile')
const PROFILE = findTools(profile === undefined ? [] : [{ metric: profile }])

/** Returns the tool of another metric, with its own paths and no variables. */
function toolOf(
  name: string,
  changes: Pick<Partial<Tool>, 'mounts' | 'results' | 'variables'> = {},
): NamedTool {
  const tool: Tool = {
    installer: { image: 'a', resources: { limits: { cpu: '1', memory: '1Gi' } } },
    sizeLimit: '16Mi',
    mounts: [{ subPath: 'tool', mountPath: `/tools/${name}` }],
    results: { subPath: 'results', mountPath: `/results/${name}` },
    variables: [],
    ...changes,
  }
  return { name, tool }
}

/** Finds the first conflict of tools that are added to a target one after another. */
function find(target: Json, tools: readonly NamedTool[] = PROFILE) {
  const found = tools.map((tool, place) =>
    findToolConflict({ name: 'app', ...target }, tool, tools.slice(0, place)),
  )
  return found.find((conflict) => conflict !== undefined)
}

t.test('a container conflicts with no tool if no tool is requested', async (t) => {
  t.equal(find({ volumeMounts: [{ mountPath: '/ridealong' }] }, []), undefined)
  t.strictSame(findTools([{ metric: { name: 'perf-sysstat' } }]), [])
})

t.test('a list of the target that is no list is reported', async (t) => {
  for (const key of ['env', 'envFrom', 'volumeMounts', 'volumeDevices']) {
    for (const wrong of ['x', 7, {}, true]) {
      const problem = findListProblem({ name: 'app', [key]: wrong })
      t.equal(problem, `${key} of container "app" must be a list`)
    }
    for (const right of [undefined, null, []]) t.equal(findListProblem({ [key]: right }), undefined)
  }
})

const optional = (source: string) => [
  { name: 'LD_PRELOAD', valueFrom: { [source]: { name: 'x', key: 'y', optional: true } } },
]

/** A description of the target, its fields, and the variable that it sets. */
const TARGETS: [string, Json, string | undefined][] = [
  ['other variables', { env: [{ name: 'OMP_NUM_THREADS', value: '4' }] }, undefined],
  ['a longer name', { env: [{ name: 'CPUPROFILE_X' }] }, undefined],
  ['another case', { env: [{ name: 'cpuprofile' }] }, undefined],
  ['an entry without a name, and entries that are no objects', { env: [{}, null, 'x'] }, undefined],
  ['a variable without a value', { env: [{ name: 'CPUPROFILE' }] }, 'CPUPROFILE'],
  ['a variable', { env: [{ name: 'CPUPROFILE', value: 'x' }] }, 'CPUPROFILE'],
  ['the second of two', { env: [{ name: 'A' }, { name: 'CPUPROFILE' }] }, 'CPUPROFILE'],
  ['the variable of an option', { env: [{ name: 'CPUPROFILE_FREQUENCY' }] }, 'CPUPROFILE_FREQ'],
  ['a variable that is joined', { env: [{ name: 'LD_PRELOAD', value: '/a.so' }] }, undefined],
  [
    'one that is joined twice',
    { env: [{ name: 'LD_PRELOAD' }, { name: 'LD_PRELOAD' }] },
    undefined,
  ],
  ['one from a field', { env: [{ name: 'LD_PRELOAD', valueFrom: { fieldRef: {} } }] }, undefined],
  ['one from an optional Secret', { env: optional('secretKeyRef') }, 'LD_PRELOAD'],
  ['one from an optional ConfigMap', { env: optional('configMapKeyRef') }, 'LD_PRELOAD'],
  ['one from an optional file', { env: optional('fileKeyRef') }, 'LD_PRELOAD'],
  ['any keys of a ConfigMap', { envFrom: [{ configMapRef: { name: 'x' } }] }, 'LD_PRELOAD'],
  ['an empty prefix', { envFrom: [{ prefix: '', secretRef: { name: 'x' } }] }, 'LD_PRELOAD'],
  ['a prefix of another name', { envFrom: [{ prefix: 'APP_' }] }, undefined],
  ['the beginning of a name', { envFrom: [{ prefix: 'APP_' }, { prefix: 'CPUP' }] }, 'CPUPROFILE'],
  ['a prefix longer than the name', { envFrom: [{ prefix: 'LD_PRELOAD_' }] }, undefined],
  ['an envFrom entry that is no object', { envFrom: ['x', null] }, undefined],
  [
    'a joined variable, which replaces the one of envFrom',
    { envFrom: [{ prefix: 'LD_' }], env: [{ name: 'LD_PRELOAD', value: '/a.so' }] },
    undefined,
  ],
]

t.test('a variable of the target is never replaced', async (t) => {
  for (const [name, target, variable] of TARGETS) {
    const found = find(target)
    t.equal(found?.reason, variable && 'variable-taken', name)
    if (variable !== undefined) t.match(found?.message, `sets the variable ${variable}`, name)
  }
  t.equal(
    find({ env: optional('secretKeyRef') })?.message,
    'metric cpu-profile sets the variable LD_PRELOAD,' +
      ' which container "app" may get from an optional key of a ConfigMap, Secret or file',
  )
  t.equal(
    find({ envFrom: [{}] })?.message,
    'metric cpu-profile sets the variable LD_PRELOAD,' +
      ' which container "app" may get from its envFrom',
  )
})

t.test('two tools can join a variable, but not set it', async (t) => {
  const joins = (separator?: ':' | ',') => ({
    name: 'LD_PRELOAD',
    value: '/x.so',
    ...(separator && { separator }),
  })
  const rows: [string, boolean, Json, Json][] = [
    ['both join it', false, joins(':'), joins(':')],
    ['both set it', true, joins(), joins()],
    ['the first sets it', true, joins(), joins(':')],
    ['the second sets it', true, joins(':'), joins()],
    ['the separators differ', true, joins(':'), joins(',')],
    ['they set different variables', false, joins(), { name: 'OTHER', value: 'x' }],
  ]
  for (const [name, isTaken, first, second] of rows) {
    const one = toolOf('one', { variables: [first as never] })
    const two = toolOf('two', { variables: [second as never] })
    const found = find({}, [one, two])
    t.equal(found?.reason, isTaken ? 'variable-taken' : undefined, name)
    if (isTaken) {
      t.equal(found?.message, 'metric two sets the variable LD_PRELOAD, which metric one also sets')
    }
  }
})

t.test('no mount of the target is above, below or at the path of a tool', async (t) => {
  const rows: [string, string, boolean][] = [
    ['the path', '/ridealong/profiles', true],
    ['a folder above it', '/ridealong', true],
    ['the root', '/', true],
    ['a folder below it', '/ridealong/profiles/a/b', true],
    ['a file below it', '/ridealong/cpu-profile/loader.so', true],
    ['a name that begins with it', '/ridealong/profiles2', false],
    ['a name that it begins with', '/ridealong/profile', false],
    ['another folder beside it', '/ridealong/other', false],
    ['repeated slashes', '//ridealong///profiles//', true],
    ['a slash at the end', '/ridealong/profiles/', true],
    ['steps to the folder itself', '/./ridealong/./profiles', true],
    ['steps back', '/data/../ridealong/x/../profiles', true],
    ['more steps back than folders', '/../../ridealong/profiles', true],
    ['steps back out of the folder', '/ridealong/profiles/../../data', false],
    ['a relative path, which begins at the root', 'ridealong/profiles', true],
    ['an empty path', '', false],
    ['another path', '/data', false],
  ]
  for (const [name, path, isTaken] of rows) {
    const word = isTaken ? 'path-taken' : undefined
    const mount = { name: 'v', mountPath: path, subPath: 'a/b' }
    t.equal(find({ volumeMounts: [{ mountPath: '/d' }, mount] })?.reason, word, name)
    const device = { volumeDevices: [{ name: 'v', devicePath: path }] }
    t.equal(find(device)?.reason, word, `${name}, of a device`)
    t.equal(find({ terminationMessagePath: path })?.reason, word, `${name}, of the message`)
  }
  t.equal(find({ volumeMounts: [null, 'x', { mountPath: 7 }, {}] }), undefined)
  t.strictSame(find({ volumeMounts: [{ mountPath: '/ridealong//' }] }), {
    reason: 'path-taken',
    message:
      'metric cpu-profile needs the path /ridealong/cpu-profile,' +
      ' but container "app" has a mount at "/ridealong"',
  })
})

t.test('the paths of two tools do not contain each other', async (t) => {
  const tool = toolOf('one')
  const at = (mountPath: string) => toolOf('two', { results: { subPath: 'r', mountPath } })
  t.equal(find({}, [tool, toolOf('two')]), undefined)
  t.equal(find({}, [tool, at('/tools/ones')]), undefined)
  t.strictSame(find({}, [tool, at('/tools/one/results')]), {
    reason: 'path-taken',
    message:
      'metric two needs the path /tools/one/results, but metric one has a mount at "/tools/one"',
  })
  t.equal(find({}, [tool, at('/results/one')])?.reason, 'path-taken')
})

t.test('overlaps() compares whole steps of paths', async (t) => {
  for (const [path, other, expected] of [
    ['/', '/', true],
    ['/', '/a', true],
    ['/a', '/a', true],
    ['/a', '/a/b', true],
    ['/a', '/ab', false],
    ['/a/b', '/a/c', false],
  ] as const) {
    t.equal(overlaps(path, other), expected, `${path} and ${other}`)
    t.equal(overlaps(other, path), expected, `${other} and ${path}`)
  }
})
