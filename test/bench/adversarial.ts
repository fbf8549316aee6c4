/**
 * Reviews that are built to be slow. Each pod requests an observer, and one part of the review can
 * have any size. The webhook must read, add up, compare or quote this part. The webhook must not
 * need much longer for the answer than for parsing the review.
 */

/** A kind of hostile review. */
export interface Adversary {
  readonly name: string
  /** Builds the body of a request with about this number of characters. */
  readonly build: (characters: number) => string
}

const ASKS = '"ridealong.dev/inject":"perf-sysstat"'
const APP = '{"name":"app","image":"app"}'
const REQUIRED_TERMS = 'requiredDuringSchedulingIgnoredDuringExecution'
const UID = '2d7f7ca7-afbb-411e-8266-38bd72ab25e8'

/** The parts of a review, as JSON. A missing part has the value of an ordinary pod. */
interface Parts {
  readonly uid?: string
  /** Entries of the annotations. */
  readonly annotations?: string
  /** Entries of the metadata, before the annotations. */
  readonly metadata?: string
  /** Entries of the spec, before the containers. */
  readonly spec?: string
  /** Items of `spec.containers`. */
  readonly containers?: string
}

function reviewOf({
  uid = UID,
  annotations = ASKS,
  metadata = '',
  spec = '',
  containers = APP,
}: Parts) {
  const pod =
    `{"apiVersion":"v1","kind":"Pod","metadata":{${metadata}"annotations":{${annotations}}},` +
    `"spec":{${spec}"containers":[${containers}]}}`
  return (
    `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"${uid}",` +
    `"operation":"CREATE","namespace":"hpc","object":${pod}}}`
  )
}

/** Returns a comma-separated list of items with about this total number of characters. */
function items(characters: number, item: (index: number) => string): string {
  const all: string[] = []
  for (let length = 0; length < characters; length += (all.at(-1)?.length ?? 0) + 1) {
    all.push(item(all.length))
  }
  return all.join(',')
}

/** Returns an adversary that repeats one item in one part of a review. */
function repeating(name: string, item: (index: number) => string, parts: (items: string) => Parts) {
  return { name, build: (characters: number) => reviewOf(parts(items(characters, item))) }
}

/** Returns an adversary with one long text in one part of a review. */
function long(name: string, piece: string, parts: (text: string) => Parts): Adversary {
  const build = (characters: number) => {
    return reviewOf(parts(piece.repeat(Math.ceil(characters / piece.length))))
  }
  return { name, build }
}

/**
 * Returns an adversary with lists or objects that are nested as deep as the number of characters
 * allows.
 */
function nested(name: string, open: string, core: string, close: string): Adversary {
  const build = (characters: number) => {
    const levels = Math.floor(characters / (open.length + close.length))
    return reviewOf({ spec: `"x":${open.repeat(levels)}${core}${close.repeat(levels)},` })
  }
  return { name, build }
}

const asked = (annotations: string) => `${ASKS},${annotations}`
const initContainers = (items: string) => ({ spec: `"initContainers":[${items}],` })
const targeting = asked('"ridealong.dev/target-container":"absent","ridealong.dev/on-error":"deny"')
const stripped =
  '"ridealong.dev/status":"{\\"outcome\\":\\"injected\\",\\"metrics\\":[\\"perf-sysstat\\"]}"'
const capabilities = (list: string) => (items: string) => ({
  containers: `{"name":"app","securityContext":{"capabilities":{"${list}":[${items}]}}}`,
})
const resources = (kind: string) => (items: string) => ({
  containers: `{"name":"app","resources":{"${kind}":{${items}}}}`,
})
const inLetters = (index: number) =>
  `${index}`.replace(/\d/g, (digit) => 'ABCDEFGHIJ'[Number(digit)] ?? '')
const PROFILED = '"ridealong.dev/inject":"cpu-profile"'
/** Returns a pod that requests a metric with a tool, and whose target has a list. */
const tooled = (list: string) => (items: string) => ({
  annotations: PROFILED,
  containers: `{"name":"app","image":"app","${list}":[${items}]}`,
})
const unknown = (items: string) => ({ spec: `"x":[${items}],` })

const HUGE = { cpu: '1M', memory: '1Ei' }

/**
 * The rules of the namespace in which the pods are created. The rules refuse no pod, but require
 * that the webhook adds up resources.
 */
export const RULES = {
  limitRanges: [
    {
      metadata: { name: 'defaults' },
      spec: {
        limits: [
          {
            type: 'Container',
            default: { cpu: '1', memory: '1Gi' },
            defaultRequest: { cpu: '10m', memory: '16Mi' },
          },
          { type: 'Pod', max: HUGE },
        ],
      },
    },
  ],
  resourceQuotas: [
    {
      metadata: { name: 'compute' },
      spec: {
        hard: {
          pods: '100',
          'requests.cpu': '1M',
          'limits.cpu': '1M',
          'requests.memory': '1Ei',
          'limits.memory': '1Ei',
          'requests.example.com/gpu': '8',
        },
      },
    },
    {
      metadata: { name: 'across' },
      spec: { hard: { pods: '100' }, scopes: ['CrossNamespacePodAffinity'] },
    },
  ],
}

/**
 * The adversaries. A security audit and the search (search.ts) found reviews of these kinds whose
 * answers took long or were large.
 */
export const ADVERSARIES: readonly Adversary[] = [
  repeating(
    'containers, each with a resource of its own',
    (i) => `{"name":"c${i}","resources":{"limits":{"a/${i}":"1"}}}`,
    (containers) => ({ containers }),
  ),
  repeating(
    'init containers, each with a resource of its own',
    (i) => `{"name":"c${i}","resources":{"requests":{"a/${i}":"1"}}}`,
    initContainers,
  ),
  repeating(
    'sidecars, each with a resource of its own',
    (i) => `{"name":"c${i}","restartPolicy":"Always","resources":{"limits":{"a/${i}":"1"}}}`,
    initContainers,
  ),
  repeating(
    'containers with known resources',
    (i) => `{"name":"c${i}","resources":{"limits":{"cpu":"${i}m","memory":"1"}}}`,
    (containers) => ({ containers }),
  ),
  repeating(
    'small containers',
    () => '{"name":"c"}',
    (containers) => ({ containers }),
  ),
  repeating('limits of one container', (i) => `"a/${i}":"1"`, resources('limits')),
  repeating('requests of one container', (i) => `"a/${i}":"1"`, resources('requests')),
  repeating(
    'overhead',
    (i) => `"a/${i}":"1"`,
    (items) => ({ spec: `"overhead":{${items}},` }),
  ),
  {
    name: 'resources of the pod',
    build: (characters: number) => {
      const list = items(characters / 2, (i) => `"hugepages-${i}":"1"`)
      return reviewOf({ spec: `"resources":{"requests":{${list}},"limits":{${list}}},` })
    },
  },
  long('a long quantity', '9', (text) => ({
    containers: `{"name":"app","resources":{"limits":{"cpu":"${text}"}}}`,
  })),
  long('a long number', '9', (text) => ({
    containers: `{"name":"app","resources":{"limits":{"cpu":${text}}}}`,
  })),
  repeating(
    'options that no metric has',
    (i) => `"perf-sysstat.ridealong.dev/o${i}":"1"`,
    (items) => ({ annotations: asked(items) }),
  ),
  repeating(
    'options of other metrics',
    (i) => `"m${i}.ridealong.dev/rate":"1"`,
    (items) => ({ annotations: asked(items) }),
  ),
  repeating(
    'annotations of other programs',
    (i) => `"example.com/a${i}":"x"`,
    (items) => ({ annotations: asked(items) }),
  ),
  repeating(
    'annotations of other programs, with an escape',
    (i) => `"example.com/a${i}":"\\u0061"`,
    (items) => ({ annotations: asked(items) }),
  ),
  long('a long key', 'x.ridealong.dev/', (text) => ({ annotations: asked(`"${text}":"x"`) })),
  long('a long list of metrics', 'x,', (text) => ({
    annotations: `"ridealong.dev/inject":"${text}"`,
  })),
  long('a long target command', 'x', (text) => ({
    annotations: asked(`"ridealong.dev/target-command":"${text}"`),
  })),
  long('a long mode', ' ', (text) => ({ annotations: asked(`"ridealong.dev/mode":"x${text}x"`) })),
  long('a long option', '0', (text) => ({
    annotations: asked(`"perf-sysstat.ridealong.dev/rate":"${text}"`),
  })),
  long('a long status', '[', (text) => ({
    annotations: asked(`"ridealong.dev/status":"${text}"`),
  })),
  repeating(
    'an absent target among many containers',
    (i) => `{"name":"container-${i}"}`,
    (containers) => ({ containers, annotations: targeting }),
  ),
  repeating(
    'containers with the name of an observer without its restart policy',
    () => '{"name":"perf-sysstat","command":["perf-sysstat"]}',
    (items) => ({ ...initContainers(items), annotations: asked(stripped) }),
  ),
  repeating('capabilities dropped', (i) => `"${inLetters(i)}"`, capabilities('drop')),
  repeating('capabilities added', (i) => `"${inLetters(i)}"`, capabilities('add')),
  long('a long capability', 'C', (text) => capabilities('drop')(`"${text}"`)),
  long('a long name of a container', 'x', (text) => ({ containers: `{"name":"${text}"}` })),
  long('a long restart policy', '$', (text) => ({ spec: `"restartPolicy":"${text}",` })),
  long('a long name of a pod', 'x', (text) => ({ metadata: `"name":"${text}",` })),
  long('a long uid', 'x', (uid) => ({ uid })),
  repeating(
    'owners',
    (i) => `{"kind":"Job","name":"j${i}"}`,
    (items) => ({ metadata: `"ownerReferences":[${items}],` }),
  ),
  long('a long owner', 'x', (text) => ({
    metadata: `"ownerReferences":[{"kind":"Job","name":"${text}","controller":true}],`,
  })),
  repeating(
    'labels',
    (i) => `"a/${i}":"x"`,
    (items) => ({ metadata: `"labels":{${items}},` }),
  ),
  repeating(
    'volumes',
    (i) => `{"name":"v${i}","emptyDir":{}}`,
    (items) => ({ spec: `"volumes":[${items}],` }),
  ),
  repeating(
    'affinity terms',
    () => '{"namespaceSelector":null}',
    (items) => ({
      spec: `"affinity":{"podAffinity":{"${REQUIRED_TERMS}":[${items}]}},`,
    }),
  ),
  nested('lists in lists', '[', '', ']'),
  nested('objects in objects', '{"":', '0', '}'),
  repeating('empty objects', () => '{}', unknown),
  repeating('objects of one key each', (i) => `{"k${i}":0}`, unknown),
  repeating('short lists in lists', () => '[[[[[[[[]]]]]]]]', unknown),
  repeating(
    'keys of an unknown field',
    (i) => `"${i.toString(36)}":0`,
    (items) => ({
      spec: `"x":{${items}},`,
    }),
  ),
  repeating('keys that would poison a prototype', () => '{"__proto__":{}}', unknown),
  repeating(
    'managed fields',
    (i) => `{"manager":"m${i}"}`,
    (items) => ({ metadata: `"managedFields":[${items}],` }),
  ),
  repeating('variables', (i) => `{"name":"V${i}","value":"x"}`, tooled('env')),
  repeating('the same variable', () => '{"name":"LD_PRELOAD","value":"x"}', tooled('env')),
  repeating('prefixes of variables', (i) => `{"prefix":"P${i}_"}`, tooled('envFrom')),
  repeating('mounts', (i) => `{"name":"v","mountPath":"/m/${i}"}`, tooled('volumeMounts')),
  repeating('devices', (i) => `{"name":"v","devicePath":"/m/${i}"}`, tooled('volumeDevices')),
  long('a deep path', '/a', (text) => tooled('volumeMounts')(`{"mountPath":"${text}"}`)),
  long('a path of steps back', '/a/..', (text) =>
    tooled('volumeMounts')(`{"mountPath":"${text}"}`),
  ),
  long('a long name of a variable', 'V', (text) => tooled('env')(`{"name":"${text}"}`)),
  long('blanks', ' ', (text) => ({ spec: `"x":${text}0,` })),
]
