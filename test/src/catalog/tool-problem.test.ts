import t, { type Test } from 'tap'
import { loadCatalog } from '../../../src/catalog/load.ts'

const CONTAINER = {
  image: 'example.com/observer:1',
  resources: { limits: { cpu: '10m', memory: '16Mi' } },
}
const TOOL = {
  installer: { ...CONTAINER, image: 'example.com/tool:1' },
  sizeLimit: '256Mi',
  mounts: [{ subPath: 'tool', mountPath: '/opt/ours' }],
  results: { subPath: 'results', mountPath: '/var/opt/ours' },
  variables: [{ name: 'LD_PRELOAD', value: '/opt/ours/loader.so', separator: ':' }],
}
const RATE = { type: 'integer', minimum: 1, maximum: 9, default: 3, description: 'Hz' }

const WORD = { type: 'string', enum: ['all', 'a$b'], default: 'all', description: 'a word' }

type Json = Readonly<Record<string, unknown>>

/** Returns a document of a metric with a tool, as JSON, which is valid YAML. */
function documentOf(tool: Json = {}, name = 'ours'): string {
  return JSON.stringify({
    apiVersion: 'ridealong.dev/v1alpha1',
    kind: 'Metric',
    metadata: { name },
    spec: {
      description: 'a tool of the test',
      privilege: 'restricted',
      options: { rate: RATE, word: WORD },
      tool: { ...TOOL, ...tool },
      container: CONTAINER,
    },
  })
}

/** The changes of a document whose tool is mounted from its image. */
const MOUNTED = { installer: undefined, imageVolume: { image: 'example.com/tool:1' } }
const NO_SOURCE = /ours: spec\.tool must have either installer or imageVolume$/
const mountedOf = (changes: Json) =>
  documentOf({ ...MOUNTED, imageVolume: { ...MOUNTED.imageVolume, ...changes } })
const imageAt = (subPath: string) =>
  documentOf({ ...MOUNTED, mounts: [{ subPath, mountPath: '/opt/ours' }] })
const installerOf = (changes: Json) => documentOf({ installer: { ...TOOL.installer, ...changes } })
const variablesOf = (...variables: Json[]) => documentOf({ variables })
const mountsOf = (...mounts: Json[]) => documentOf({ mounts })
const mountAt = (mountPath: string, subPath = 'tool') => mountsOf({ subPath, mountPath })
const names = (count: number, length: number) =>
  Array.from({ length: count }, (_, index) => ({
    name: `V${index}`.padEnd(length, 'X'),
    value: '',
  }))

/** Returns the message of the error from loading a document; empty if the document is valid. */
async function problemOf(t: Test, document: string): Promise<string> {
  try {
    await loadCatalog({ folder: t.testdir({ 'x.yaml': document }) })
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

t.test('the catalog has the tool of a document', async (t) => {
  const { metrics } = await loadCatalog({ folder: t.testdir({ 'x.yaml': documentOf() }) })
  t.strictSame(metrics.get('ours')?.tool, TOOL)
  t.equal(metrics.get('perf-sysstat')?.tool, undefined)
})

/** The documents with the first or last allowed value of each bound. */
const BOUNDS: readonly (readonly [string, string])[] = [
  ['the smallest volume', documentOf({ sizeLimit: '16Mi' })],
  ['a volume of 99Mi', documentOf({ sizeLimit: '99Mi' })],
  ['a volume of 100Mi', documentOf({ sizeLimit: '100Mi' })],
  ['the largest volume in Mi', documentOf({ sizeLimit: '999999Mi' })],
  ['a volume of 1Gi', documentOf({ sizeLimit: '1Gi' })],
  ['the largest volume', documentOf({ sizeLimit: '9999Gi' })],
  ['a name of 39 characters', documentOf({}, 'a'.repeat(39))],
  ['a folder of 63 characters', mountAt('/opt/ours', 'a'.repeat(63))],
  ['a path of 256 characters', mountAt(`/a/${'b'.repeat(253)}`)],
  ['a path with dots and dashes', mountAt('/opt/a.b-c_d/e..f')],
  ['a path that begins with dev', mountAt('/devices/x')],
  [
    'eight mounts',
    mountsOf(...'abcdefgh'.split('').map((name) => ({ subPath: name, mountPath: `/opt/${name}` }))),
  ],
  [
    'two mounts of a folder',
    mountsOf({ subPath: 'a', mountPath: '/a/b' }, { subPath: 'a', mountPath: '/a/c' }),
  ],
  ['sixteen variables', variablesOf(...names(16, 3))],
  ['variables of 200 characters', variablesOf(...names(4, 50))],
  ['a variable of 63 characters', variablesOf(...names(1, 63))],
  ['a variable of an option', variablesOf({ name: 'RATE', option: 'rate' })],
  [
    'a variable of an option, appended',
    variablesOf({ name: 'RATE', option: 'rate', separator: ',' }),
  ],
  [
    'forwarded variables',
    variablesOf(
      { name: 'A', value: " !'#%&()[]{}~", forwardedBy: 'open-mpi' },
      { name: 'B', option: 'rate', forwardedBy: 'open-mpi' },
    ),
  ],
  ['a value of 1024 characters', variablesOf({ name: 'A', value: 'x'.repeat(1024) })],
  ['all printable characters', variablesOf({ name: 'A', value: ' !"#$%&()[]{}~' })],
  [
    'each separator',
    variablesOf(
      ...[...': ,;'].map((separator, index) => ({ name: `A${index}`, value: 'x', separator })),
    ),
  ],
  ['a tool that is mounted from its image', documentOf(MOUNTED)],
  ['an image volume with a pull policy', mountedOf({ imagePullPolicy: 'Always' })],
  ['a path in the image', imageAt('tool/ours')],
  ['a folder of the image with the name of the results', imageAt('results')],
  [
    'an installer with args and a pull policy',
    installerOf({ args: ['x'], imagePullPolicy: 'Always' }),
  ],
]

t.test('each bound of a tool allows its first and last value', async (t) => {
  for (const [name, document] of BOUNDS) t.equal(await problemOf(t, document), '', name)
})

const WRONG: readonly (readonly [string, string, RegExp])[] = [
  ['an unknown key', documentOf({ hook: {} }), /ours: spec\.tool must not have hook$/],
  ...['sizeLimit', 'mounts', 'results', 'variables'].map((key) => {
    const pattern = new RegExp(`spec\\.tool must have required property '${key}'$`)
    return [`no ${key}`, documentOf({ [key]: undefined }), pattern] as const
  }),
  ['a volume below 16Mi', documentOf({ sizeLimit: '15Mi' }), /spec\.tool\.sizeLimit must match/],
  ['a volume of 0', documentOf({ sizeLimit: '0Gi' }), /sizeLimit must match/],
  ['a volume above 9999Gi', documentOf({ sizeLimit: '10000Gi' }), /sizeLimit must match/],
  ['a volume of 1000000Mi', documentOf({ sizeLimit: '1000000Mi' }), /sizeLimit must match/],
  ['a volume in bytes', documentOf({ sizeLimit: '268435456' }), /sizeLimit must match/],
  ['a decimal unit', documentOf({ sizeLimit: '256M' }), /sizeLimit must match/],
  ['a fraction', documentOf({ sizeLimit: '1.5Gi' }), /sizeLimit must match/],
  ['a leading zero', documentOf({ sizeLimit: '0256Mi' }), /sizeLimit must match/],
  ['a number', documentOf({ sizeLimit: 1 }), /sizeLimit must be string/],
  [
    'a name of 40 characters',
    documentOf({}, 'a'.repeat(40)),
    /metadata\.name must have at most 39 characters if the metric has a tool$/,
  ],
  ['no installer', documentOf({ installer: undefined }), NO_SOURCE],
  ['an installer and an image volume', documentOf({ imageVolume: { image: 'a:1' } }), NO_SOURCE],
  ['an image volume without an image', mountedOf({ image: undefined }), /property 'image'$/],
  ['an image volume with a command', mountedOf({ command: ['x'] }), /must not have command$/],
  ['a path outside the image', imageAt('../ours'), /mounts\.0\.subPath must match/],
  ['an absolute path in the image', imageAt('/tool'), /mounts\.0\.subPath must match/],
  [
    'a path for the results',
    documentOf({ ...MOUNTED, results: { ...TOOL.results, subPath: 'a/b' } }),
    /results\.subPath must match/,
  ],
  ['an installer without an image', installerOf({ image: undefined }), /property 'image'$/],
  ['an installer without limits', installerOf({ resources: {} }), /property 'limits'$/],
  ['an installer with variables', installerOf({ env: [] }), /installer must not have env$/],
  [
    'an installer with a security context',
    installerOf({ securityContext: {} }),
    /installer must not have securityContext$/,
  ],
  [
    'nine mounts',
    mountsOf(...[...'abcdefghi'].map((name) => ({ subPath: name, mountPath: `/opt/${name}` }))),
    /mounts must NOT have more than 8 items$/,
  ],
  [
    'a folder in a folder',
    mountAt('/opt/ours', 'a/b'),
    /spec\.tool\.mounts\.0\.subPath must have no slash if the tool has an installer$/,
  ],
  ['the folder above', mountAt('/opt/ours', '..'), /subPath must match/],
  ['an empty folder', mountAt('/opt/ours', ''), /subPath must match/],
  ['a folder of 64 characters', mountAt('/opt/ours', 'a'.repeat(64)), /subPath must match/],
  ['a path of 257 characters', mountAt(`/a/${'b'.repeat(254)}`), /more than 256 characters$/],
  ...['opt/ours', '/opt', '/', '', '/opt/', '/opt/ours/', '/opt//ours', '/opt/../etc'].map(
    (path) => [`the path "${path}"`, mountAt(path), /mountPath must match/] as const,
  ),
  ...['/opt/./a', '/opt/a:b', '/opt/a b', '/opt/$(A)', '/opt/é', '/opt/a\n'].map(
    (path) => [`the path ${JSON.stringify(path)}`, mountAt(path), /mountPath must match/] as const,
  ),
  ...['/dev/shm', '/proc/self', '/sys/fs'].map(
    (path) => [`the path ${path}`, mountAt(path), /mountPath must NOT be valid/] as const,
  ),
  [
    'results below a mount',
    documentOf({ results: { subPath: 'results', mountPath: '/opt/ours/results' } }),
    /spec\.tool: the paths \/opt\/ours and \/opt\/ours\/results must not contain each other$/,
  ],
  [
    'a mount twice',
    mountsOf({ subPath: 'a', mountPath: '/a/b' }, { subPath: 'b', mountPath: '/a/b' }),
    /the paths \/a\/b and \/a\/b must not contain each other$/,
  ],
  [
    'results in the folder of a mount',
    documentOf({ results: { subPath: 'tool', mountPath: '/var/opt/ours' } }),
    /spec\.tool\.results\.subPath must differ from those of spec\.tool\.mounts$/,
  ],
  ['no variables', variablesOf(), /variables must NOT have fewer than 1 items$/],
  ['17 variables', variablesOf(...names(17, 3)), /variables must NOT have more than 16 items$/],
  [
    'variables of 201 characters',
    variablesOf(...names(4, 50), { name: 'A', value: '' }),
    /spec\.tool\.variables: the names together must have at most 200 characters, not 201$/,
  ],
  [
    'a variable twice',
    variablesOf({ name: 'A', value: 'x' }, { name: 'B', value: '' }, { name: 'A', option: 'rate' }),
    /spec\.tool\.variables must have A only once$/,
  ],
  [
    'an unknown option',
    variablesOf({ name: 'A', value: '' }, { name: 'B', option: 'speed' }),
    /spec\.tool\.variables\.1\.option must be an option of the metric: rate, word$/,
  ],
  [
    'an option of all objects',
    variablesOf({ name: 'A', option: 'toString' }),
    /of the metric: rate, word$/,
  ],
  ['a value and an option', variablesOf({ name: 'A', value: 'x', option: 'rate' }), /variables\.0/],
  ['neither a value nor an option', variablesOf({ name: 'A' }), /variables\.0/],
  ['a source', variablesOf({ name: 'A', value: '', valueFrom: {} }), /must not have valueFrom$/],
  ['a long name', variablesOf(...names(1, 64)), /name must NOT have more than 63 characters$/],
  ...['', '1A', 'A-B', 'A.B', 'Ä', 'A B'].map(
    (name) => [`the variable "${name}"`, variablesOf({ name, value: '' }), /name must/] as const,
  ),
  ...['PATH', 'HOME', 'USER', 'HOSTNAME', 'LD_LIBRARY_PATH', 'PYTHONPATH'].map(
    (name) => [`the variable ${name}`, variablesOf({ name, value: '' }), /name must NOT/] as const,
  ),
  ...['a"b', 'a$b', 'a`b', 'a=b', 'a\\b'].map(
    (value) =>
      [
        `the forwarded value ${value}`,
        variablesOf({ name: 'A', value: '' }, { name: 'B', value, forwardedBy: 'open-mpi' }),
        /spec\.tool\.variables\.1\.forwardedBy does not allow a value with /,
      ] as const,
  ),
  [
    'a forwarded option with such a value',
    variablesOf({ name: 'A', option: 'word', forwardedBy: 'open-mpi' }),
    /variables\.0\.forwardedBy does not allow a value with /,
  ],
  [
    'a launch agent beside a forwarded variable',
    variablesOf(
      { name: 'A', value: 'x', forwardedBy: 'open-mpi' },
      { name: 'PRTE_MCA_prte_launch_agent', value: 'x' },
    ),
    /variables\.0\.forwardedBy also sets PRTE_MCA_prte_launch_agent, a variable of the tool$/,
  ],
  [
    'another program that forwards',
    variablesOf({ name: 'A', value: 'x', forwardedBy: 'mpich' }),
    /forwardedBy must be/,
  ],
  ['a long value', variablesOf({ name: 'A', value: 'x'.repeat(1025) }), /more than 1024 char/],
  ['a line break', variablesOf({ name: 'A', value: 'a\nb' }), /value must match/],
  ['a value beyond ASCII', variablesOf({ name: 'A', value: 'é' }), /value must match/],
  ['a number as value', variablesOf({ name: 'A', value: 1 }), /value must be string/],
  ['another separator', variablesOf({ name: 'A', value: '', separator: '|' }), /separator must be/],
  ['no separator', variablesOf({ name: 'A', value: '', separator: '' }), /separator must be/],
]

for (const [name, document, pattern] of WRONG) {
  t.test(`a tool with this defect is refused: ${name}`, async (t) => {
    const problem = await problemOf(t, document)
    t.match(problem, pattern)
    t.match(problem, 'x.yaml')
  })
}
