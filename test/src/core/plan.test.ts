import t from 'tap'
import {
  askingPod,
  type ContainerObject,
  type Json,
  perfOf,
  podOf,
  type Ride,
  ride,
  type Texts,
  variable,
} from './build.ts'

const CONTAINER = { 'ridealong.dev/mode': 'container' }
const TOKEN_PATH = '/var/run/secrets/kubernetes.io/serviceaccount'

const namesIn = (list: readonly { readonly name: string }[] | undefined) =>
  list?.map(({ name }) => name)

/**
 * Expands a value as the kubelet does (kubernetes third_party/forked/golang/expansion/expand.go). A
 * reference to a variable NAME is expanded to EXPANDED:NAME.
 */
function expand(input: string): string {
  let output = ''
  for (let cursor = 0; cursor < input.length; cursor += 1) {
    const [text, consumed] =
      input[cursor] === '$' ? readReference(input.slice(cursor + 1)) : ['', 0]
    output += consumed === 0 ? input[cursor] : text
    cursor += consumed
  }
  return output
}

/** Returns the expansion of the text after a `$`, and the number of characters that it replaces. */
function readReference(rest: string): [text: string, consumed: number] {
  if (rest === '') return ['', 0]
  if (rest.startsWith('$')) return ['$', 1]
  const end = rest.indexOf(')')
  if (rest.startsWith('(') && end > 0) return [`EXPANDED:${rest.slice(1, end)}`, end + 1]
  return [`$${rest[0]}`, 1]
}

t.test(
  'observers in mode native are the last init containers, with restartPolicy Always',
  async (t) => {
    const initContainers = [
      { name: 'setup', image: 'a' },
      { name: 'proxy', image: 'b', restartPolicy: 'Always' },
      { name: 'wait', image: 'c' },
    ]
    const before = askingPod(
      { initContainers },
      { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' },
    )
    const { pod, observers } = ride(before)
    const expected = ['setup', 'proxy', 'wait', 'perf-sysstat', 'io-sysstat']
    t.strictSame(namesIn(pod.spec.initContainers), expected)
    t.strictSame(
      pod.spec.initContainers?.slice(0, 3),
      initContainers,
      'the init containers of the pod are unchanged',
    )
    t.strictSame(namesIn(pod.spec.containers), ['app'])
    for (const { name, restartPolicy } of Object.values(observers)) {
      t.equal(restartPolicy, 'Always', `the restartPolicy of ${name}`)
    }
  },
)

t.test('observers in mode container are the last containers, without restartPolicy', async (t) => {
  const spec = {
    containers: [
      { name: 'app', image: 'a' },
      { name: 'other', image: 'b' },
    ],
    initContainers: [{ name: 'setup', image: 'c' }],
  }
  const annotations = { ...CONTAINER, 'ridealong.dev/inject': 'io-sysstat,perf-sysstat' }
  const { pod, observers } = ride(askingPod(spec, annotations))
  t.strictSame(namesIn(pod.spec.containers), ['app', 'other', 'io-sysstat', 'perf-sysstat'])
  t.strictSame(namesIn(pod.spec.initContainers), ['setup'])
  for (const observer of Object.values(observers)) {
    t.notOk('restartPolicy' in observer, `${observer.name} has no restartPolicy`)
  }
})

t.test('an observer has only the fields that the catalog or Ridealong sets', async (t) => {
  const { name, image, imagePullPolicy, command } = perfOf(ride(askingPod()))
  t.strictSame(
    { name, image, imagePullPolicy, command },
    {
      name: 'perf-sysstat',
      image: 'registry.example/observer:1',
      imagePullPolicy: 'IfNotPresent',
      command: ['perf-sysstat'],
    },
  )
  const allowed = [
    'name',
    'image',
    'imagePullPolicy',
    'command',
    'restartPolicy',
    'env',
    'resources',
    'securityContext',
    'volumeMounts',
  ]
  t.strictSame(
    Object.keys(perfOf(ride(askingPod()))).sort(),
    allowed.sort(),
    'there are no probes and no hooks',
  )
})

t.test('the process namespace is shared for every value of shareProcessNamespace', async (t) => {
  const rows: [string, Json][] = [
    ['absent', {}],
    ['absent', { shareProcessNamespace: null }],
    ['false', { shareProcessNamespace: false }],
    ['true', { shareProcessNamespace: true }],
  ]
  for (const [before, spec] of rows) {
    const { pod, status } = ride(askingPod(spec))
    t.equal(pod.spec.shareProcessNamespace, true, `shareProcessNamespace was ${before}`)
    t.equal(status?.shareProcessNamespace, before, 'the status annotation has the original value')
  }
})

t.test(
  'a volume hides the service account token from observers if the pod mounts the token',
  async (t) => {
    const rows: [string, Json, boolean][] = [
      ['automountServiceAccountToken is not set', {}, true],
      ['the token is mounted', { automountServiceAccountToken: true }, true],
      ['the token is not mounted', { automountServiceAccountToken: false }, false],
    ]
    for (const [name, spec, isCovered] of rows) {
      const outcome = ride(askingPod(spec))
      const { volumes = [] } = outcome.pod.spec
      const { volumeMounts = [] } = perfOf(outcome)
      t.equal(volumes.length, isCovered ? 1 : 0, name)
      t.strictSame(
        volumeMounts,
        volumes.map((volume) => ({ name: volume.name, mountPath: TOKEN_PATH, readOnly: true })),
      )
    }
  },
)

t.test(
  'one volume, named after the uid of the request, hides the token from all observers',
  async (t) => {
    const both = askingPod({}, { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' })
    const rows: [string, string][] = [
      ['705ab4f5-6393-11e8-b7cc-42010a800002', 'ridealong-no-token-705ab4f5'],
      ['ABCDEF01-2345', 'ridealong-no-token-abcdef01'],
      ['a_b.c', 'ridealong-no-token-abc'],
    ]
    for (const [uid, name] of rows) {
      const { pod, observers } = ride(both, { review: { uid } })
      t.strictSame(namesIn(pod.spec.volumes), [name])
      for (const { volumeMounts } of Object.values(observers)) {
        t.strictSame(namesIn(volumeMounts), [name])
      }
    }
    const odd = ride(both, { review: { uid: '---' } }).pod.spec.volumes?.[0]?.name
    t.match(odd, /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'the name is valid in Kubernetes')
  },
)

t.test(
  'the volume that hides the token is not local storage, which would prevent evictions',
  async (t) => {
    const [volume] = ride(askingPod()).pod.spec.volumes ?? []
    t.strictSame(Object.keys(volume ?? {}).sort(), ['name', 'projected'])
  },
)

t.test('an observer gets its pod, node and index from the downward API', async (t) => {
  const paths = (metadata: Json) => {
    const annotations = {
      'ridealong.dev/inject': 'perf-sysstat',
      ...(metadata.annotations as Json),
    }
    const { env = [] } = perfOf(ride({ ...podOf(), metadata: { ...metadata, annotations } }))
    return Object.fromEntries(
      env.flatMap(({ name, valueFrom }) =>
        valueFrom === undefined ? [] : [[name, valueFrom.fieldRef.fieldPath]],
      ),
    )
  }
  const place = {
    POD_NAME: 'metadata.name',
    POD_NAMESPACE: 'metadata.namespace',
    NODE_NAME: 'spec.nodeName',
  }
  const key = 'batch.kubernetes.io/job-completion-index'
  t.strictSame(paths({}), place)
  t.strictSame(paths({ annotations: { [key]: '3' } }), {
    ...place,
    JOB_COMPLETION_INDEX: `metadata.annotations['${key}']`,
  })
  t.strictSame(paths({ labels: { [key]: '3' } }), place, 'a label with this key is ignored')
})

t.test(
  'the variables of an observer contain the catalog revision, the mode and the target',
  async (t) => {
    const observer = perfOf(
      ride(
        askingPod(
          { restartPolicy: 'OnFailure', containers: [{ name: 'lammps', image: 'a' }] },
          { ...CONTAINER, 'ridealong.dev/target-command': 'lmp' },
        ),
      ),
    )
    const variables = [
      ['RIDEALONG_CATALOG', '3f2a91c0'],
      ['RIDEALONG_MODE', 'container'],
      ['RIDEALONG_RESTART_POLICY', 'OnFailure'],
      ['RIDEALONG_TARGET_CONTAINER', 'lammps'],
      ['RIDEALONG_TARGET_COMMAND', 'lmp'],
      ['RIDEALONG_OBSERVERS', 'perf-sysstat'],
    ] as const
    for (const [name, value] of variables)
      t.equal(variable(observer, name), value, `the variable ${name}`)
    const plain = perfOf(ride(askingPod()))
    t.equal(variable(plain, 'RIDEALONG_MODE'), 'native')
    t.equal(
      variable(plain, 'RIDEALONG_RESTART_POLICY'),
      'Always',
      'the default of Kubernetes is used',
    )
    t.equal(variable(plain, 'RIDEALONG_HOST_NETWORK'), undefined)
    const onHost = perfOf(ride(askingPod({ hostNetwork: true })))
    t.equal(variable(onHost, 'RIDEALONG_HOST_NETWORK'), 'true')
    const names = (observer.env ?? []).map(({ name }) => name)
    t.equal(new Set(names).size, names.length, 'no variable is repeated')
  },
)

const RULES = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }]

/**
 * The restart policies of a pod, of its target and of the target's rules; the policy that an
 * observer follows, and the policy of its container in mode `container`.
 */
const RESTARTS: [string | undefined, Json, string, string | undefined][] = [
  [undefined, {}, 'Always', undefined],
  ['Never', {}, 'Never', undefined],
  ['Never', { restartPolicy: 'Never' }, 'Never', undefined],
  ['Never', { restartPolicy: 'Never', restartPolicyRules: RULES }, 'OnFailure', undefined],
  ['Never', { restartPolicy: 'Always' }, 'Always', 'Always'],
  ['Always', { restartPolicy: 'Never' }, 'Never', 'Never'],
  ['Always', { restartPolicy: 'Never', restartPolicyRules: RULES }, 'OnFailure', 'Never'],
  [undefined, { restartPolicy: 'OnFailure' }, 'OnFailure', 'OnFailure'],
  ['OnFailure', { restartPolicy: 'x'.repeat(1000) }, 'OnFailure', undefined],
]

t.test('an observer follows the restart policy of its target, then of its pod', async (t) => {
  for (const [policy, own, followed, ownPolicy] of RESTARTS) {
    const containers = [
      { name: 'app', image: 'a', ...own },
      { name: 'other', image: 'b', restartPolicy: 'Always' },
    ]
    const name = `${policy} ${JSON.stringify(own)}`
    const spec = { ...(policy && { restartPolicy: policy }), containers }
    const ended = perfOf(ride(askingPod(spec, CONTAINER)))
    t.equal(variable(ended, 'RIDEALONG_RESTART_POLICY'), followed, name)
    t.equal(ended.restartPolicy, ownPolicy, name)
    const native = perfOf(ride(askingPod(spec)))
    t.equal(variable(native, 'RIDEALONG_RESTART_POLICY'), followed, name)
    t.equal(native.restartPolicy, 'Always')
  }
})

t.test(
  'in mode container, no observer waits for a native sidecar in a pod that ends',
  async (t) => {
    const initContainers = [{ name: 'proxy', image: 'p', restartPolicy: 'Always' }]
    const target = { 'ridealong.dev/target-container': 'proxy' }
    for (const [restartPolicy, mode, word] of [
      ['Never', CONTAINER, 'invalid-option'],
      ['OnFailure', CONTAINER, 'invalid-option'],
      ['Always', CONTAINER, 'injected'],
      ['Never', {}, 'injected'],
    ] as const) {
      const ridden = ride(askingPod({ restartPolicy, initContainers }, { ...mode, ...target }))
      t.equal(ridden.word, word, restartPolicy)
      if (word === 'invalid-option')
        t.match(
          ridden.message,
          'ridealong.dev/mode: proxy is a native sidecar, which only the mode native',
        )
    }
    const containers = [{ name: 'app', image: 'a', restartPolicy: 'Never' }]
    const completing = askingPod({ initContainers, containers }, { ...CONTAINER, ...target })
    t.equal(ride(completing).word, 'invalid-option', 'the only container is not restarted')
  },
)

t.test('a variable of an observer contains the names of all observers of its pod', async (t) => {
  const namesOf = ({ observers }: Ride, metric: string) =>
    variable(observers[metric] as ContainerObject, 'RIDEALONG_OBSERVERS')
  const second = { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' }
  const requestedAgain = ({ pod }: Ride) => ({
    ...pod,
    metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...second } },
  })
  const first = requestedAgain(ride(askingPod()))
  t.equal(namesOf(ride(first), 'io-sysstat'), 'perf-sysstat io-sysstat')

  const status = JSON.stringify({ outcome: 'injected', metrics: ['root-stat'] })
  const forged = askingPod(
    { initContainers: [{ name: 'root-stat', image: 'registry.example/miner:1' }] },
    { 'ridealong.dev/status': status },
  )
  t.equal(
    namesOf(ride(forged), 'perf-sysstat'),
    'perf-sysstat',
    'a forged status annotation does not add names',
  )
})

t.test(
  'a variable of an observer contains the owner of the pod if its name is printable',
  async (t) => {
    const ownerOf = (ownerReferences: unknown) =>
      variable(
        perfOf(ride(podOf({ 'ridealong.dev/inject': 'perf-sysstat' }, {}, { ownerReferences }))),
        'RIDEALONG_OWNER',
      )
    const owner = (name: unknown, kind: unknown = 'Job', controller: unknown = true) => ({
      apiVersion: 'batch/v1',
      kind,
      name,
      controller,
    })
    const rows: [string, unknown, string | undefined][] = [
      ['no owner', undefined, undefined],
      ['a text instead of a list', 'lammps', undefined],
      ['a controller', [owner('lammps')], 'Job/lammps'],
      [
        'a controller among other owners',
        [owner('other', 'ConfigMap', false), owner('lammps')],
        'Job/lammps',
      ],
      ['an owner that is not a controller', [owner('lammps', 'Job', false)], undefined],
      ['an owner without the field controller', [owner('lammps', 'Job', null)], undefined],
      ['a name with NUL', [owner('lam\0mps')], undefined],
      ['a name with a line break', [owner('lam\nmps')], undefined],
      ['a name beyond ASCII', [owner('lämmps')], undefined],
      [
        'a name of 512 characters with its kind',
        [owner('x'.repeat(508))],
        `Job/${'x'.repeat(508)}`,
      ],
      ['a name that is too long', [owner('x'.repeat(509))], undefined],
      ['a name that is not text', [owner(7)], undefined],
      ['a kind that is not text', [owner('lammps', null)], undefined],
      ['values that are no owners', [null, 7, 'x'], undefined],
    ]
    for (const [name, references, expected] of rows)
      t.equal(ownerOf(references), expected, `owner: ${name}`)
  },
)

t.test('the kubelet expands the target command to the text that the user wrote', async (t) => {
  const texts = [
    '$',
    '$$',
    '$$$',
    '^lmp$',
    '$(HOME)',
    '$(POD_NAME)',
    '$$(POD_NAME)',
    '$$$(POD_NAME)',
    '^(lmp|mdrun)$',
    '($)',
    '$\\(',
    '(a$)',
    'a$b$c$',
    "$&$1$`$'",
    '(a|b$)(POD_NAME)',
  ]
  for (const text of texts) {
    const observer = perfOf(ride(askingPod({}, { 'ridealong.dev/target-command': text })))
    const value = variable(observer, 'RIDEALONG_TARGET_COMMAND') ?? ''
    t.equal(expand(value), text, text)
  }
  t.equal(
    expand('$(POD_NAME)'),
    'EXPANDED:POD_NAME',
    'the kubelet would expand text that is not escaped',
  )
})

t.test(
  'the names of the owner and of the target container are escaped for the kubelet',
  async (t) => {
    const metadata = {
      ownerReferences: [{ kind: 'Job', name: 'a$(POD_NAME)$', controller: true }],
    }
    const spec = { containers: [{ name: 'app$(POD_NAME)', image: 'a' }] }
    const observer = perfOf(ride(podOf({ 'ridealong.dev/inject': 'perf-sysstat' }, spec, metadata)))
    t.equal(expand(variable(observer, 'RIDEALONG_OWNER') ?? ''), 'Job/a$(POD_NAME)$')
    t.equal(expand(variable(observer, 'RIDEALONG_TARGET_CONTAINER') ?? ''), 'app$(POD_NAME)')
  },
)

t.test(
  'only the status and, in mode container, the default container are added as annotations',
  async (t) => {
    const metadata = { labels: { app: 'lammps' }, finalizers: ['x'] }
    const others = { 'example.com/a~b': 'c', '~1': '/' }
    const written = (outcome: Ride) => {
      const { annotations = {}, ...rest } = outcome.pod.metadata
      const ours = Object.entries(annotations).filter(([key]) => !Object.hasOwn(others, key))
      return { rest, keys: ours.map(([key]) => key).sort(), kept: annotations['example.com/a~b'] }
    }
    const asked = { 'ridealong.dev/inject': 'perf-sysstat' }
    const at = (more: Texts) => written(ride(podOf({ ...others, ...asked, ...more }, {}, metadata)))
    const rest = { name: 'lammps-0', ...metadata }
    t.strictSame(at({}), {
      rest,
      keys: ['ridealong.dev/inject', 'ridealong.dev/status'],
      kept: 'c',
    })
    t.strictSame(at(CONTAINER), {
      rest,
      keys: [
        'kubectl.kubernetes.io/default-container',
        'ridealong.dev/inject',
        'ridealong.dev/mode',
        'ridealong.dev/status',
      ],
      kept: 'c',
    })
    t.strictSame(at({ 'ridealong.dev/inject': 'nobody' }), {
      rest,
      keys: ['ridealong.dev/inject', 'ridealong.dev/status'],
      kept: 'c',
    })
  },
)

t.test('a pod that gets no observers is changed only by a status annotation', async (t) => {
  const before = askingPod({ hostPID: true })
  const { pod, status } = ride(before)
  t.strictSame(status, {
    outcome: 'left',
    reason: 'host-pid',
    message: 'hostPID cannot be combined with shareProcessNamespace, which observers need',
  })
  t.strictSame(pod.spec, before.spec)
  const again = ride(pod)
  t.equal(again.word, 'host-pid')
  t.equal(again.isPatched, false, 'an existing status annotation is not written again')
})
