import t from 'tap'
import { buildCatalog, type Catalog } from '../../../../src/core/catalog.ts'
import { KEYS, STATUS_KEY } from '../../../../src/core/keys.ts'
import { findMissedPod } from '../../../../src/core/missed/missed-pods.ts'
import { findDrift } from '../../../../src/core/missed/observer-drift.ts'
import { readNamespace } from '../../../../src/core/namespaces/namespace.ts'
import { type Json, metricDocument, type Ride } from '../build.ts'
import { MOUNTED, rideWith, SHARED, sharedTool, toolDocument } from './build.ts'

const ASK = 'mpi-trace,gpu-trace,cpu-profile'
const MODES = [{}, { [KEYS.mode]: 'container' }]

const injectedPod = (more: Json = {}) => rideWith(ASK, {}, more as never, { catalog: SHARED }).pod

/** Returns a copy of a spec in which a change is applied to each container. */
function changed(spec: Json, change: (container: Json) => Json | undefined): Json {
  const apply = (list: unknown) =>
    ((list ?? []) as Json[]).flatMap((container) => change(container) ?? [])
  const { initContainers, containers } = spec
  return { ...spec, initContainers: apply(initContainers), containers: apply(containers) }
}

/** Returns a container without the mounts that a function selects. */
function withoutMounts(container: Json, isLost: (mount: Json) => boolean): Json {
  const mounts = (container.volumeMounts ?? []) as Json[]
  return { ...container, volumeMounts: mounts.filter((mount) => !isLost(mount)) }
}

/** Changes of a pod that remove a part of a tool, and the problem that findDrift() reports. */
const REMOVALS: readonly (readonly [change: (container: Json) => Json | undefined, string])[] = [
  [
    (one) => (one.name === 'mpi-trace-install' ? undefined : one),
    'cpu-profile: its tool has no init container that installs it, and no volume with its image',
  ],
  [
    (one) =>
      one.name === 'cpu-profile'
        ? withoutMounts(one, ({ mountPath }) => mountPath === '/ridealong/results')
        : one,
    'cpu-profile: its mount at /ridealong/results is missing',
  ],
  [
    (one) =>
      one.name === 'app'
        ? withoutMounts(one, ({ subPath }) => subPath === 'cpu-profile-results')
        : one,
    'cpu-profile: no other container has the folder of its results',
  ],
]

t.test('findDrift() reports each missing part of a tool, in both modes', async (t) => {
  for (const mode of MODES) {
    const { spec, metadata } = injectedPod(mode)
    const names = ASK.split(',')
    t.strictSame(findDrift(spec as Json, names, []), [], 'nothing is missing')
    for (const [change, problem] of REMOVALS) {
      const problems = findDrift(changed(spec as Json, change), names, [])
      t.ok(problems.includes(problem), `${problem}: ${problems}`)
    }
    t.ok(metadata.annotations)
  }
})

const namespace = {
  ...readNamespace('hpc', { metadata: { name: 'hpc' } }),
  allowsTools: true,
}

/** Reports whether the scan calls a pod altered. */
function isAltered(ridden: Ride, change: (container: Json) => Json | undefined): boolean {
  const { metadata, spec } = ridden.pod
  const pod = { metadata, spec: changed(spec as Json, change) }
  const surroundings = { namespace, excludedNamespaces: new Set<string>(), catalog: SHARED }
  return findMissedPod(pod as Json, surroundings)?.reason === 'altered'
}

const CHANGES: readonly (readonly [string, (container: Json) => Json, RegExp])[] = [
  [
    'image of the installer',
    (one) => (one.name === 'mpi-trace-install' ? { ...one, image: 'evil:1' } : one),
    /^init container "mpi-trace-install" has image "evil:1" instead of the catalog's "registry/,
  ],
  [
    'command of the installer',
    (one) => (one.name === 'mpi-trace-install' ? { ...one, command: ['sh'] } : one),
    /^init container "mpi-trace-install" has another command/,
  ],
  [
    'args of the installer',
    (one) => (one.name === 'mpi-trace-install' ? { ...one, args: ['-c'] } : one),
    /^init container "mpi-trace-install" has another command/,
  ],
  [
    'folder of the tool',
    (one) =>
      one.name === 'app' ? withoutMounts(one, ({ subPath }) => subPath === 'mpi-trace-tool') : one,
    /^container "app" does not have the tool's mount at \/opt\/ridealong\/mpi-trace$/,
  ],
]

t.test('the scan and a second review compare the installer and the mounts', async (t) => {
  for (const mode of MODES) {
    const ridden = rideWith(ASK, {}, mode as never, { catalog: SHARED })
    t.notOk(isAltered(ridden, (container) => container))
    for (const [part, change, message] of CHANGES) {
      t.ok(isAltered(ridden, change), part)
      const { metadata, spec } = ridden.pod
      const status = metadata.annotations?.[STATUS_KEY] ?? ''
      const more = { ...mode, [STATUS_KEY]: status } as never
      const again = rideWith(ASK, changed(spec as Json, change), more, { catalog: SHARED })
      t.equal(again.word, 'observer-differs', part)
      t.equal(again.isPatched, false)
      t.match(again.message.split('; ')[0], message)
    }
  }
})

t.test('an observer whose tool differs gets a removed restartPolicy back', async (t) => {
  const { metadata, spec } = injectedPod()
  const status = metadata.annotations?.[STATUS_KEY] ?? ''
  const stripped = changed(spec as Json, (one) => {
    if (one.name === 'mpi-trace-install') return { ...one, image: 'evil:1' }
    return one.name === 'mpi-trace' ? { ...one, restartPolicy: undefined } : one
  })
  const again = rideWith(ASK, stripped, { [STATUS_KEY]: status }, { catalog: SHARED })
  t.equal(again.word, 'restored')
})

/** A catalog in which each tool has its own installer, and the same folders of its volume. */
function separateTools(image: (name: string) => string): Catalog {
  const names = ['cpu-profile', 'mpi-trace']
  const documents = names.map((name) => {
    const path = `/opt/ridealong/${name}/loader.so`
    const { metadata, spec } = toolDocument(name, [
      { name: 'LD_PRELOAD', value: path, separator: ':' },
    ])
    const { tool } = spec
    if (tool?.installer === undefined) throw new Error('the document has no installer')
    const installer = { ...tool.installer, image: image(name) }
    return { ...metricDocument(name), metadata, spec: { ...spec, tool: { ...tool, installer } } }
  })
  return buildCatalog(documents, '0badc0de')
}

t.test('a pod with the tools of another catalog is not changed', async (t) => {
  const tools = 'registry.example/tools:1'
  const cases = [
    [
      /has image .* instead of the catalog's/,
      separateTools((name) => `registry.example/${name}:1`),
    ],
    // The same image, with other folders of the volume.
    [/does not have the tool's mount at/, separateTools(() => tools)],
  ] as const
  for (const [message, catalog] of cases) {
    for (const mode of MODES) {
      const before = rideWith('cpu-profile,mpi-trace', {}, mode as never, { catalog })
      const { metadata, spec } = before.pod
      t.match(spec.initContainers?.map(({ name }) => name).slice(0, 2), [
        'cpu-profile-install',
        'mpi-trace-install',
      ])
      const more = { ...mode, [STATUS_KEY]: metadata.annotations?.[STATUS_KEY] ?? '' } as never
      const after = rideWith('cpu-profile,mpi-trace', spec as Json, more, { catalog: SHARED })
      t.equal(after.word, 'observer-differs')
      t.match(after.message, message)
      t.equal(after.isPatched, false)
    }
  }
  t.equal(sharedTool('a', tools, '16Mi').installer.image, tools)
})

/** Changes of a pod whose tools are mounted from their image, and the differences. */
const MOUNTED_CHANGES: readonly (readonly [string, (spec: Json) => Json, RegExp])[] = [
  [
    'no volume with the image',
    ({ volumes, ...spec }) => ({
      ...spec,
      volumes: (volumes as Json[]).filter(({ image }) => image === undefined),
    }),
    /^container mpi-trace: its tool has no init container .*, and no volume with its image$/,
  ],
  [
    'another image',
    ({ volumes, ...spec }) => ({
      ...spec,
      volumes: (volumes as Json[]).map((volume) =>
        volume.image === undefined ? volume : { ...volume, image: { reference: 'evil:1' } },
      ),
    }),
    /^volume "ridealong-lib-mpi-trace-.*" has image "evil:1" instead of the catalog's "registry/,
  ],
  [
    'another volume at the path of the library',
    (spec) =>
      changed(spec, (one) => ({
        ...one,
        volumeMounts: ((one.volumeMounts ?? []) as Json[]).map((mount) =>
          mount.mountPath === '/opt/ridealong/mpi-trace' ? { ...mount, name: 'evil' } : mount,
        ),
      })),
    /^container "app" does not have the tool's mount at \/opt\/ridealong\/mpi-trace$/,
  ],
  [
    'a writable library',
    (spec) =>
      changed(spec, (one) => ({
        ...one,
        volumeMounts: ((one.volumeMounts ?? []) as Json[]).map(
          ({ readOnly: _, ...mount }) => mount,
        ),
      })),
    /does not have the tool's mount at/,
  ],
]

t.test('the scan and a second review compare the image volume and the mounts', async (t) => {
  for (const mode of MODES) {
    const { metadata, spec } = rideWith(ASK, {}, mode as never, { catalog: MOUNTED }).pod
    const status = metadata.annotations?.[STATUS_KEY] ?? ''
    const more = { ...mode, [STATUS_KEY]: status } as never
    const surroundings = { namespace, excludedNamespaces: new Set<string>(), catalog: MOUNTED }
    const scanned = (changed: Json) =>
      findMissedPod({ metadata, spec: changed } as Json, surroundings)?.reason
    t.equal(scanned(spec as Json), undefined)
    t.equal(rideWith(ASK, spec as Json, more, { catalog: MOUNTED }).word, 'already-injected')
    for (const [part, change, message] of MOUNTED_CHANGES) {
      t.equal(scanned(change(spec as Json)), 'altered', part)
      const again = rideWith(ASK, change(spec as Json), more, { catalog: MOUNTED })
      t.equal(again.word, 'observer-differs', part)
      t.equal(again.isPatched, false)
      t.match(again.message.split('; ')[0], message)
    }
  }
})

t.test('a pod with an installer differs from a catalog with image volumes', async (t) => {
  for (const [before, after, message] of [
    [SHARED, MOUNTED, /: the volume with its tool's image is missing/],
    [MOUNTED, SHARED, /: the init container that installs its tool is missing/],
  ] as const) {
    const { metadata, spec } = rideWith('mpi-trace', {}, {}, { catalog: before }).pod
    const more = { [STATUS_KEY]: metadata.annotations?.[STATUS_KEY] ?? '' }
    const again = rideWith('mpi-trace', spec as Json, more, { catalog: after })
    t.equal(again.word, 'observer-differs')
    t.match(again.message, message)
    t.equal(again.isPatched, false)
  }
})
