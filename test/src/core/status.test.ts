import t from 'tap'
import { UNKNOWN_BODY } from '../../../src/core/body-scan.ts'
import { buildCatalog } from '../../../src/core/catalog.ts'
import { lackedIn, leftStatus, readStatus } from '../../../src/core/status.ts'
import { ascii } from '../../../src/core/text/printable.ts'
import {
  askingPod,
  type ContainerObject,
  type Json,
  metricDocument,
  type PodObject,
  podOf,
  ride,
  type Texts,
} from './build.ts'

const KEY = 'ridealong.dev/status'
const BOTH = { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' }
const LIMIT = 256 * 1024

const bytes = (text: string) => new TextEncoder().encode(text).length
const sizeOf = (annotations: Texts) =>
  Object.entries(annotations).reduce((sum, [key, value]) => sum + bytes(key) + bytes(value), 0)

/** Returns a pod to which an earlier call of the webhook has added both observers. */
const injected = (spec: Json = {}, annotations: Texts = BOTH): PodObject =>
  ride(podOf(annotations, spec)).pod

type Change = (containers: readonly ContainerObject[]) => readonly ContainerObject[]

/** Returns a pod with a change that another webhook may have made to its init containers. */
const changed = (pod: PodObject, change: Change): PodObject => ({
  ...pod,
  spec: { ...pod.spec, initContainers: change(pod.spec.initContainers ?? []) },
})

const without =
  (name: string): Change =>
  (containers) =>
    containers.filter((container) => container.name !== name)

/** Removes the restartPolicy of these containers, as a client for an older Kubernetes would. */
const stripped =
  (...names: string[]): Change =>
  (containers) =>
    containers.map(({ restartPolicy, ...rest }) =>
      restartPolicy === undefined || names.includes(rest.name) ? rest : { ...rest, restartPolicy },
    )

const namesIn = (list: readonly ContainerObject[] | undefined) => list?.map(({ name }) => name)

t.test('a pod with all of its observers is not patched', async (t) => {
  const rows: [string, PodObject][] = [
    ['with mode native', injected()],
    ['with other init containers', injected({ initContainers: [{ name: 'setup', image: 'a' }] })],
    ['with mode container', injected({}, { ...BOTH, 'ridealong.dev/mode': 'container' })],
    [
      'to which another webhook has added a container',
      changed(injected(), (all) => [
        { name: 'istio-proxy', image: 'i', restartPolicy: 'Always' },
        ...all,
      ]),
    ],
  ]
  for (const [name, pod] of rows) {
    const { word, isPatched, warnings } = ride(pod)
    t.equal(word, 'already-injected', `a pod ${name}`)
    t.equal(isPatched, false, `a pod ${name} is not patched`)
    t.strictSame(warnings, [], `a pod ${name} causes no warning`)
  }
})

t.test('a lost restartPolicy of an observer is restored at the same index', async (t) => {
  const setup = { name: 'setup', image: 'a' }
  const whole = injected({ initContainers: [setup] })
  const rows: [string, string[], string[]][] = [
    ['the first of two observers', ['perf-sysstat'], ['/spec/initContainers/1/restartPolicy']],
    ['the second of two observers', ['io-sysstat'], ['/spec/initContainers/2/restartPolicy']],
    [
      'both observers',
      ['perf-sysstat', 'io-sysstat'],
      ['/spec/initContainers/1/restartPolicy', '/spec/initContainers/2/restartPolicy'],
    ],
  ]
  for (const [name, names, paths] of rows) {
    const { word, pod, answer } = ride(changed(whole, stripped(...names)))
    t.equal(word, 'restored', name)
    t.strictSame(
      answer.operations,
      paths.map((path) => ({ op: 'add', path, value: 'Always' })),
      `${name}: no other field is changed`,
    )
    t.strictSame(pod, whole, `${name}: the pod is restored`)
    t.equal(ride(pod).word, 'already-injected')
  }
})

t.test('a removed or changed shareProcessNamespace is restored', async (t) => {
  const whole = injected({ shareProcessNamespace: false })
  const { shareProcessNamespace, ...spec } = whole.spec
  t.equal(shareProcessNamespace, true)
  for (const said of [{}, { shareProcessNamespace: false }, { shareProcessNamespace: null }]) {
    const { word, answer, status } = ride({ ...whole, spec: { ...spec, ...said } })
    t.equal(word, 'restored', JSON.stringify(said))
    t.strictSame(answer.operations, [
      { op: 'add', path: '/spec/shareProcessNamespace', value: true },
    ])
    t.equal(status?.shareProcessNamespace, 'false', 'the status annotation is unchanged')
  }
})

t.test('a removed observer is added again, and the other observer stays', async (t) => {
  for (const [before, spec] of [
    ['absent', {}],
    ['false', { shareProcessNamespace: false }],
    ['true', { shareProcessNamespace: true }],
  ] as const) {
    const broken = changed(injected(spec), without('perf-sysstat'))
    const { word, pod, status, observers } = ride(broken, { review: { uid: 'second' } })
    t.equal(word, 'injected', `shareProcessNamespace was ${before}`)
    t.strictSame(Object.keys(observers), ['perf-sysstat'])
    t.strictSame(namesIn(pod.spec.initContainers), ['io-sysstat', 'perf-sysstat'])
    t.equal(status?.shareProcessNamespace, before, 'the status annotation keeps the original value')
    t.strictSame(status?.metrics, ['io-sysstat', 'perf-sysstat'])
    const volumes = (pod.spec.volumes ?? []).map(({ name }) => name)
    t.equal(new Set(volumes).size, 2, 'the two volumes that hide the token have different names')
    t.equal(ride(pod).word, 'already-injected', 'no observer is missing afterwards')
  }
})

t.test('a removed observer and a lost restartPolicy are repaired together', async (t) => {
  const broken = changed(injected(), (all) => stripped('io-sysstat')(without('perf-sysstat')(all)))
  const { word, pod } = ride(broken)
  t.equal(word, 'injected')
  t.strictSame(
    pod.spec.initContainers?.map(({ name, restartPolicy }) => [name, restartPolicy]),
    [
      ['io-sysstat', 'Always'],
      ['perf-sysstat', 'Always'],
    ],
  )
})

t.test('a pod with a status annotation but without its observers is injected', async (t) => {
  const status = JSON.stringify({ outcome: 'injected', metrics: ['perf-sysstat', 'io-sysstat'] })
  const { word, observers } = ride(podOf({ ...BOTH, [KEY]: status }))
  t.equal(word, 'injected')
  t.strictSame(Object.keys(observers), ['perf-sysstat', 'io-sysstat'])
})

t.test('a forged or invalid status annotation is ignored', async (t) => {
  const taken = {
    initContainers: [{ name: 'perf-sysstat', image: 'mine', restartPolicy: 'Always' }],
  }
  const nonsense = [
    '',
    '{',
    'null',
    '7',
    '"injected"',
    '[]',
    '{}',
    '[{"outcome":"injected","metrics":["perf-sysstat"]}]',
    '{"outcome":"left","metrics":["perf-sysstat","io-sysstat"]}',
    '{"outcome":"injected"}',
    '{"outcome":"injected","metrics":"perf-sysstat"}',
    '{"outcome":"injected","metrics":{"perf-sysstat":true}}',
    '{"outcome":"injected","metrics":[7,null,["perf-sysstat"]]}',
    '{"outcome":["injected"],"metrics":["perf-sysstat"]}',
    `{"outcome":"injected","metrics":["perf-sysstat"],"x":"${'x'.repeat(760)}"}`,
    `${'['.repeat(100_000)}`,
  ]
  for (const status of nonsense) {
    const name = status.slice(0, 60)
    t.equal(ride(podOf({ ...BOTH, [KEY]: status })).word, 'injected', name)
    const { left } = ride(podOf({ ...BOTH, [KEY]: status }, taken))
    t.strictSame(left, { 'perf-sysstat': 'name-taken' }, name)
  }
})

/** A request of perf-sysstat and of metrics that the catalog does not have. */
const wrongly = (names: readonly string[], more: Texts = {}) =>
  podOf({ 'ridealong.dev/inject': ['perf-sysstat', ...names].join(), ...more })

t.test('a status with many left metrics has shorter messages, then fewer metrics', async (t) => {
  const statusOf = (names: readonly string[], more: Texts = {}) => {
    const { word, pod } = ride(wrongly(names, more))
    t.equal(word, 'injected')
    const written = pod.metadata.annotations?.[KEY] ?? ''
    t.ok(written.length <= 768)
    return JSON.parse(written)
  }
  const [whole] = statusOf(['lmp']).left
  t.match(whole.message, /^annotation ridealong.dev\/inject: "lmp" is not .* trace-stat$/)
  const four = statusOf(['a1', 'b1', 'c1', 'd1']).left
  t.equal(four.length, 4)
  for (const { message } of four) t.match(message, /^annotation ridealong.dev\/inject: .*\.\.\.$/)
  const long = Array.from({ length: 8 }, (_, index) => `${index}`.repeat(70))
  const { left } = statusOf(long)
  t.ok(left.length > 2 && left.length < 8)
  for (const { metric, reason, message } of left) {
    t.match(metric, /^(\d)\1{59}\.\.\.$/)
    t.equal(reason, 'unknown-metric')
    t.equal(message, undefined)
  }
  t.equal(statusOf(['"\u202eü'.repeat(5)]).left[0].metric, '"??'.repeat(5))
})

t.test('a pod without room for left metrics is injected, and the status omits them', async (t) => {
  const filler = (size: number) => ({ filler: 'x'.repeat(256 * 1024 - size) })
  const seen = [...Array(45).keys()].map((index) => {
    const { word, status } = ride(wrongly(['lmp'], filler(500 - 9 * index)))
    const [lacked] = (status?.left as readonly Texts[] | undefined) ?? []
    return word === 'injected' ? (lacked && Object.keys(lacked).join(' ')) || 'none' : word
  })
  t.strictSame([...new Set(seen)], ['metric reason message', 'metric reason', 'none', 'too-large'])
})

t.test('lackedIn() reads the left metrics of an injected pod', async (t) => {
  const { pod } = ride(wrongly(['lmp']))
  t.match(lackedIn(readStatus(pod.metadata.annotations)), [
    { metric: 'lmp', reason: 'unknown-metric', message: /"lmp" is not a metric/ },
  ])
  const forged = (left: unknown, outcome = 'injected') => lackedIn({ outcome, left })
  for (const left of [undefined, 7, {}, [7, null, {}], [{ metric: 7, reason: 'quota' }]])
    t.strictSame(forged(left), [])
  t.strictSame(forged([{ metric: 'lmp', reason: 'nobody' }]), [])
  t.strictSame(forged([{ metric: 'lmp', reason: 'quota' }], 'left'), [])
  t.strictSame(forged([{ metric: 'lmp', reason: 'quota', message: 7 }]), [
    { metric: 'lmp', reason: 'quota', message: undefined },
  ])
})

t.test('an existing observer is restored even if another observer cannot be added', async (t) => {
  const status = JSON.stringify({ outcome: 'injected', metrics: ['io-sysstat'] })
  const image = 'registry.example/observer:1'
  const initContainers = ['io-sysstat', 'perf-sysstat'].map((name) => ({
    name,
    image,
    command: [name],
  }))
  const { word, pod } = ride(podOf({ ...BOTH, [KEY]: status }, { initContainers }))
  t.equal(word, 'restored')
  const [ours, theirs] = pod.spec.initContainers ?? []
  t.equal(ours?.restartPolicy, 'Always')
  t.strictSame(
    theirs,
    initContainers[1],
    'a container that the status annotation does not name is not changed',
  )
  t.equal(pod.metadata.annotations?.[KEY], status, 'the status annotation is unchanged')
})

t.test('a status annotation is one JSON object of at most 768 bytes', async (t) => {
  const long = 'x'.repeat(60)
  const known = Array.from({ length: 50 }, (_, place) => ({ name: `${place}-${long}`, image: 'a' }))
  const pods: [string, Json][] = [
    [
      'a message with many containers',
      podOf({ ...BOTH, 'ridealong.dev/target-container': 'nobody' }, { containers: known }),
    ],
    ['a long name of a metric', podOf({ 'ridealong.dev/inject': `"${'\\'.repeat(5000)}` })],
    [
      'a key of non-ASCII characters',
      podOf({ ...BOTH, [`ridealong.dev/${'ü'.repeat(300)}`]: 'x' }),
    ],
  ]
  for (const [name, pod] of pods) {
    const { pod: patched, status } = ride(pod)
    const written = patched.metadata.annotations?.[KEY] ?? ''
    t.ok(bytes(written) <= 768, name)
    t.match(written, /^[\x20-\x7e]+$/, name)
    t.equal(status?.outcome, 'left', name)
  }
})

t.test(
  'a message that is too long for a status is cut to fit, and ends with three dots',
  async (t) => {
    const rows: [string, string][] = [
      ['plain text', 'x'.repeat(5000)],
      ['quotes, which JSON escapes', '"'.repeat(5000)],
      ['backslashes', '\\'.repeat(1000)],
      ['control characters', '\u0001'.repeat(1000)],
      ['a mixture', 'x"\\\u0001'.repeat(1000)],
      ['one character too many', 'x'.repeat(718)],
    ]
    for (const [name, message] of rows) {
      const status = leftStatus('host-pid', message)
      const read = JSON.parse(status)
      t.ok(bytes(status) <= 768, `${name}: ${bytes(status)} bytes`)
      t.match(read, { outcome: 'left', reason: 'host-pid' }, name)
      t.ok(read.message.endsWith('...'), `${name}: ends with three dots`)
      const shown = ascii(message, message.length)
      t.ok(shown.startsWith(read.message.slice(0, -3)), `${name}: the beginning is kept`)
    }
  },
)

t.test('a request with too many metrics for a status of 768 bytes is invalid', async (t) => {
  const names = Array.from({ length: 60 }, (_, place) => `${place + 10}-metric`)
  const catalog = buildCatalog(
    names.map((name) => metricDocument(name)),
    '3f2a91c0',
  )
  const asking = (count: number) =>
    ride(podOf({ 'ridealong.dev/inject': names.slice(0, count).join() }), { catalog })
  const counts = names.map((_, place) => place + 1)
  const words = counts.map((count) => asking(count).word)
  const last = words.lastIndexOf('injected')
  t.ok(last > 30 && last < 59, 'some numbers of metrics fit, and others do not')
  t.strictSame(new Set(words.slice(0, last)), new Set(['injected']))
  t.strictSame(new Set(words.slice(last + 1)), new Set(['invalid-option']))
  const { pod } = asking(last + 1)
  const written = pod.metadata.annotations?.[KEY] ?? ''
  t.ok(
    written.length <= 768 && written.length > 768 - '"10-metric",'.length,
    'one more metric would not fit',
  )
})

t.test('a message that exactly fits into a status is not cut', async (t) => {
  const frame = JSON.stringify({ outcome: 'left', reason: 'host-pid', message: '' }).length
  const message = 'x'.repeat(768 - frame)
  const status = leftStatus('host-pid', message)
  t.equal(status.length, 768)
  t.equal(JSON.parse(status).message, message)
  const longer = leftStatus('host-pid', `${message}x`)
  t.equal(longer.length, 768, 'a longer message is cut to the same length')
  t.equal(JSON.parse(longer).message, `${message.slice(0, -3)}...`)
})

t.test(
  'the annotations of a pod, with its status annotation, may have at most 256 KiB',
  async (t) => {
    const usual = { 'kubectl.kubernetes.io/default-container': 'app' }
    const rows: [string, Texts, string][] = [
      ['characters of one byte', BOTH, 'x'],
      ['characters of two bytes', BOTH, 'ü'],
      ['characters of three bytes', BOTH, '€'],
      ['characters of four bytes', BOTH, '🚀'],
      [
        'mode container, without a default container',
        { ...BOTH, 'ridealong.dev/mode': 'container' },
        'x',
      ],
      [
        'mode container, with a default container',
        { ...BOTH, ...usual, 'ridealong.dev/mode': 'container' },
        '€',
      ],
    ]
    for (const [name, annotations, character] of rows) {
      const room =
        LIMIT - sizeOf(injected({}, annotations).metadata.annotations ?? {}) - 'filler'.length
      const count = Math.floor(room / bytes(character))
      const filler = character.repeat(count) + 'x'.repeat(room - count * bytes(character))
      for (const review of [{}, { source: UNKNOWN_BODY }]) {
        const at = (more: Texts) => ride(podOf({ ...annotations, ...more }), { review })
        const fitting = at({ filler })
        t.equal(fitting.word, 'injected', `${name}: the annotations fit`)
        t.equal(
          sizeOf(fitting.pod.metadata.annotations ?? {}),
          LIMIT,
          'the annotations have exactly 256 KiB',
        )
        const { word, isPatched, allowed } = at({ filler: `${filler}x` })
        t.equal(word, 'too-large', `${name}: one more byte does not fit`)
        t.equal(isPatched, false)
        t.equal(allowed, true)
        t.equal(at({ fillers: filler }).word, 'too-large', 'keys are counted too')
      }
    }
  },
)

t.test('the size of a replaced status annotation is not counted', async (t) => {
  const old = JSON.stringify({ outcome: 'left', reason: 'host-pid', message: 'x'.repeat(300) })
  const own = { ...BOTH, [KEY]: old }
  const filler = 'x'.repeat(LIMIT - sizeOf(own) - 'filler'.length)
  const { word, pod } = ride(podOf({ ...own, filler }))
  t.equal(word, 'injected')
  t.ok(sizeOf(pod.metadata.annotations ?? {}) < LIMIT)
})

t.test(
  'a pod without observers gets a status annotation only if the annotation fits',
  async (t) => {
    const spec = { hostPID: true }
    const told = ride(podOf(BOTH, spec)).pod.metadata.annotations ?? {}
    const filler = 'x'.repeat(LIMIT - sizeOf(told) - 'filler'.length)
    const fitting = ride(podOf({ ...BOTH, filler }, spec))
    t.equal(fitting.status?.reason, 'host-pid')
    const full = ride(podOf({ ...BOTH, filler: `${filler}x` }, spec))
    t.equal(full.word, 'host-pid')
    t.equal(full.isPatched, false)
    t.equal(full.allowed, true)
    t.equal(full.warnings.length, 1, 'there is still a warning')
  },
)

t.test('a status annotation of 768 bytes is read, and a longer one is ignored', async (t) => {
  const whole = injected()
  const written = whole.metadata.annotations?.[KEY] ?? ''
  const at = (length: number) => {
    const padded = `${written.slice(0, -1).padEnd(length - 1)}}`
    const annotations = { ...whole.metadata.annotations, [KEY]: padded }
    const spec = { ...whole.spec, shareProcessNamespace: false }
    return ride({ ...whole, metadata: { ...whole.metadata, annotations }, spec }).word
  }
  t.equal(at(768), 'restored')
  t.equal(at(769), 'already-injected', 'a status annotation of 769 bytes is ignored')
})

t.test(
  'a message is cut by as few characters as possible, with or without JSON escapes',
  async (t) => {
    for (const character of ['x', '"', '\\']) {
      const status = leftStatus('host-pid', character.repeat(5000))
      t.ok(status.length > 508, `${character}: ${status.length} bytes are used`)
    }
  },
)

t.test(
  'an invalid shareProcessNamespace in an existing status annotation is ignored',
  async (t) => {
    const asking = (status: Json) => askingPod({}, { [KEY]: JSON.stringify(status) })
    const rows: [string, Json][] = [
      ['the value is unknown', { outcome: 'injected', shareProcessNamespace: 'perhaps' }],
      ['the value is a long text', { outcome: 'injected', shareProcessNamespace: 'ü'.repeat(200) }],
      ['the value is an object', { outcome: 'injected', shareProcessNamespace: { x: 1 } }],
      ['the outcome is left', { outcome: 'left', shareProcessNamespace: 'false' }],
    ]
    for (const [name, forged] of rows) {
      const { word, status } = ride(asking(forged))
      t.equal(word, 'injected', name)
      t.equal(status?.shareProcessNamespace, 'absent', name)
    }
  },
)
