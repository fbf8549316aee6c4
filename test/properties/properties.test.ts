import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import jsonpatch, { type Operation } from 'fast-json-patch'
import t from 'tap'
import { loadCatalog } from '../../src/catalog/load.ts'
import { scanBody } from '../../src/core/body-scan.ts'
import type { Observer } from '../../src/core/decision.ts'
import { readNamespace } from '../../src/core/namespaces/namespace.ts'
import { readReview } from '../../src/core/review.ts'
import { type PodReview, reviewPod } from '../../src/core/review-pod.ts'
import { LAUNCH_AGENT_NAMES } from '../../src/core/tools/forwarding.ts'
import { toolImage } from '../../src/core/tools/tool.ts'
import { RULES } from '../bench/adversarial.ts'
import {
  attacks,
  bodies,
  type Call,
  calls,
  containerProblems,
  DEFAULT_CONTAINER,
  installersAdded,
  isGuaranteed,
  type Json,
  LAUNCHERS,
  mapOf,
  mapsOf,
  nonsense,
  toolMounts,
  withoutObservers,
} from './arbitrary.ts'
import { survive } from './attack.ts'

// The built-in metrics, and metrics that an administrator may add.
const catalog = await loadCatalog({ folder: fileURLToPath(new URL('catalog', import.meta.url)) })
const metrics = [...catalog.metrics.keys()]
const excludedNamespaces = new Set(['kube-system'])

/** The answer to a call, its patch, and the pod before and after the patch. */
interface Answered {
  readonly answer: PodReview
  readonly operations: readonly Operation[]
  readonly pod: Json
  readonly patched: Json
}

function answer({ body, namespace }: Call): Answered {
  const review = readReview(body, scanBody(JSON.stringify(body)))
  if ('problem' in review) throw new Error(review.problem)
  const settings = { catalog, excludedNamespaces, namespace: readNamespace('hpc', namespace) }
  const answered = reviewPod(review, settings)
  const { patch } = answered.response.response
  const operations = patch === undefined ? [] : JSON.parse(`${Buffer.from(patch, 'base64')}`)
  const pod = review.object as Json
  return { answer: answered, operations, pod, patched: apply(pod, operations) }
}

function apply(pod: Json, operations: readonly Operation[]): Json {
  if (operations.length === 0) return pod
  return jsonpatch.applyPatch(structuredClone(pod), operations, true).newDocument
}

function withObject({ body, namespace }: Call, object: unknown): Call {
  return { body: { ...body, request: { ...mapOf(body.request), object } }, namespace }
}

/** Returns the value of an annotation of the pod, or else of its namespace. */
function asked({ body, namespace }: Call, key: string): string | undefined {
  const written = [mapOf(body.request).object, namespace].map((object) => {
    return mapOf(mapOf(mapOf(object).metadata).annotations)[key]
  })
  return written.find((value) => typeof value === 'string') as string | undefined
}

/** Returns the metrics in the pod's status annotation. */
function claimed(pod: Json): readonly string[] {
  const status = mapOf(mapOf(pod.metadata).annotations)['ridealong.dev/status']
  const isJson = typeof status === 'string' && /^\{.*\}$/s.test(status)
  const { metrics } = isJson ? mapOf(JSON.parse(status)) : {}
  return Array.isArray(metrics) ? metrics : []
}

/** Returns the status annotation that an operation writes, as a list of at most one text. */
function statusIn(operation: Operation): string[] {
  const value = 'value' in operation ? operation.value : undefined
  if (operation.path.endsWith('/ridealong.dev~1status')) return [value]
  return operation.path === '/metadata/annotations' ? [value['ridealong.dev/status']] : []
}

function namesOf(containers: readonly Json[]): string[] {
  return containers.map(({ name }) => String(name))
}

/** Returns the containers that a patch appends to each list. */
function added({ pod, patched }: Answered): Record<'initContainers' | 'containers', Json[]> {
  const [before, after] = [mapOf(pod.spec), mapOf(patched.spec)]
  const of = (list: string) => mapsOf(after[list]).slice(mapsOf(before[list]).length)
  const first = installersAdded(pod, patched).length
  return { initContainers: of('initContainers').slice(first), containers: of('containers') }
}

// The paths at which a patch may add a value.
const PLACES = [
  /^\/metadata\/annotations$/,
  /^\/metadata\/annotations\/ridealong\.dev~1status$/,
  /^\/metadata\/annotations\/kubectl\.kubernetes\.io~1default-container$/,
  /^\/spec\/shareProcessNamespace$/,
  /^\/spec\/volumes(\/-)?$/,
  /^\/spec\/initContainers(\/-|\/\d+)?$/,
  /^\/spec\/(initContainers|containers)\/\d+\/(env|volumeMounts)(\/-)?$/,
  /^\/spec\/initContainers\/\d+\/restartPolicy$/,
  /^\/spec\/containers\/-$/,
]

/** Ends the search for the smallest failing value, which could otherwise take half an hour. */
const MAX_MS = 120_000

/** Each run of the tests has other values, so that many runs find what one does not. */
const RUNS = 2_000

/**
 * Checks a rule on generated values. A failure prints the seed and the smallest failing value.
 */
function always<T>(arbitrary: fc.Arbitrary<T>, rule: (value: T) => void): void {
  fc.assert(fc.property(arbitrary, rule), { numRuns: RUNS, interruptAfterTimeLimit: MAX_MS })
}

t.test('each answer has the uid of its review, and is no internal error', async () => {
  always(calls(), (call) => {
    const before = JSON.stringify(call.body)
    const { answer: answered, operations } = answer(call)
    const { uid, allowed, patchType, patch } = answered.response.response
    assert.equal(answered.fault, undefined)
    assert.equal(uid, mapOf(call.body.request).uid)
    assert.equal(allowed, answered.decision.outcome !== 'denied')
    assert.equal(patchType, patch && 'JSONPatch')
    assert.deepEqual(operations, JSON.parse(JSON.stringify(answered.operations)))
    assert.equal(JSON.stringify(call.body), before, 'the answer changed the received body')
  })
})

t.test('the answer is the same if scanBody has not scanned the text of the review', async () => {
  always(calls(), (call) => {
    const review = readReview(call.body)
    if ('problem' in review) throw new Error(review.problem)
    const namespace = readNamespace('hpc', call.namespace)
    const { response } = reviewPod(review, { catalog, excludedNamespaces, namespace })
    assert.deepEqual(answer(call).answer.response, response)
  })
})

t.test('a pod is denied only if the pod or its namespace has on-error: deny', async () => {
  const outcomes = new Set<string>()
  always(calls(), (call) => {
    const { answer: answered, operations } = answer(call)
    outcomes.add(answered.decision.outcome)
    if (answered.decision.outcome !== 'denied') return
    assert.equal(asked(call, 'ridealong.dev/on-error')?.trim(), 'deny')
    assert.deepEqual(operations, [])
    assert.equal(answered.response.response.status?.code, 403)
  })
  for (const outcome of ['denied', 'injected', 'left']) assert.ok(outcomes.has(outcome), outcome)
})

t.test('a shared process namespace that another webhook resets is restored', async () => {
  let tried = 0
  always(calls(), (call) => {
    const { answer: first, patched } = answer(call)
    if (first.decision.outcome !== 'injected') return
    const { shareProcessNamespace: _, ...spec } = mapOf(patched.spec)
    const again = answer(withObject(call, { ...patched, spec }))
    assert.equal(again.answer.decision.outcome, 'restored')
    assert.deepEqual(again.patched, patched)
    tried += 1
  })
  assert.ok(tried > RUNS / 10, `${tried} pods were injected; too few`)
})

t.test('a patch contains only additions, at allowed paths', async () => {
  always(calls(), (call) => {
    const { operations } = answer(call)
    for (const { op, path } of operations) {
      assert.equal(op, 'add')
      assert.ok(
        PLACES.some((place) => place.test(path)),
        `no patch may add ${path}`,
      )
    }
  })
})

t.test('a patch keeps every field of a pod, even labels and unknown fields', async () => {
  always(calls(), (call) => {
    const { pod, patched } = answer(call)
    const restored = metrics.filter((name) => claimed(pod).includes(name))
    assert.deepEqual(withoutObservers(patched, pod, restored), pod)
    assert.deepEqual(mapOf(patched.metadata).labels, mapOf(pod.metadata).labels)
  })
})

t.test('only pods with observers get a shared process namespace', async () => {
  always(calls(), (call) => {
    const { answer: answered, pod, patched } = answer(call)
    const isShared = ['injected', 'restored'].includes(answered.decision.outcome)
    const own = mapOf(pod.spec).shareProcessNamespace
    assert.equal(mapOf(patched.spec).shareProcessNamespace, isShared ? true : own)
  })
})

t.test('mode container sets the default container of kubectl, unless the pod has one', async () => {
  always(calls(), (call) => {
    const { answer: answered, pod, patched } = answer(call)
    const { decision } = answered
    const isOrdinary = decision.outcome === 'injected' && decision.mode === 'container'
    const [before, after] = [pod, patched].map(({ metadata }) => mapOf(mapOf(metadata).annotations))
    const first = mapsOf(mapOf(pod.spec).containers)[0]?.name
    const own = before?.[DEFAULT_CONTAINER]
    assert.equal(after?.[DEFAULT_CONTAINER], isOrdinary && own === undefined ? first : own)
  })
})

t.test('a second review of the patched pod adds nothing', async () => {
  always(calls(), (call) => {
    const first = answer(call)
    if (first.answer.decision.outcome === 'denied') return
    const second = answer(withObject(call, first.patched))
    const { outcome } = second.answer.decision
    assert.deepEqual([outcome, second.operations], ['left', []])
    const { decision } = first.answer
    const again = 'reason' in second.answer.decision && second.answer.decision.reason
    const isMirrored = decision.outcome === 'restored' && again === 'observer-differs'
    const reason = decision.outcome === 'left' ? decision.reason : 'already-injected'
    assert.equal(again, isMirrored ? again : reason)
  })
})

t.test('observers are last in their list, and each has a unique name', async () => {
  always(calls(), (call) => {
    const answered = answer(call)
    const { decision } = answered.answer
    const { initContainers, containers } = added(answered)
    if (decision.outcome !== 'injected') {
      assert.deepEqual([initContainers, containers], [[], []])
      return
    }
    const isNative = decision.mode === 'native'
    const [observers, none] = isNative ? [initContainers, containers] : [containers, initContainers]
    const names = decision.observers.map(({ metric }) => metric.name)
    assert.deepEqual(none, [])
    assert.deepEqual(namesOf(observers), names)
    const { spec } = answered.patched
    const all = [mapOf(spec).initContainers, mapOf(spec).containers].flatMap(mapsOf)
    assert.equal(namesOf(all).filter((name) => names.includes(name)).length, names.length)
    const restarts = new Set(observers.map(({ restartPolicy }) => restartPolicy))
    assert.deepEqual([...restarts], [isNative ? 'Always' : undefined])
  })
})

t.test('a written status annotation is a JSON object of at most 768 bytes', async () => {
  always(calls(), (call) => {
    const { operations, answer: answered } = answer(call)
    const written = operations.flatMap(statusIn)
    for (const status of written) {
      const bytes = Buffer.byteLength(status)
      assert.ok(bytes <= 768, `the status has ${bytes} bytes`)
      assert.equal(JSON.parse(status).outcome, answered.decision.outcome)
    }
    assert.ok(written.length === 1 || answered.decision.outcome !== 'injected')
  })
})

t.test('an observer meets Pod Security restricted if all containers of its pod do', async () => {
  let tried = 0
  always(calls('restricted'), (call) => {
    const answered = answer(call)
    const { decision } = answered.answer
    const spec = mapOf(answered.pod.spec)
    const own = [...mapsOf(spec.initContainers), ...mapsOf(spec.containers)]
    const isRestricted = own.every((container) => containerProblems(container, spec).length === 0)
    if (!isRestricted || decision.outcome !== 'injected') return
    const observers = Object.values(added(answered)).flat()
    for (const [index, observer] of observers.entries()) {
      // A metric with a security context of its own may need more rights.
      if (decision.observers[index]?.metric.container.securityContext !== undefined) continue
      assert.deepEqual(containerProblems(observer, mapOf(answered.patched.spec)), [])
      tried += 1
    }
  })
  assert.ok(tried > RUNS / 10, `${tried} observers in restricted pods; too few`)
})

t.test('a Guaranteed pod stays Guaranteed', async () => {
  let tried = 0
  always(calls('guaranteed'), (call) => {
    const { answer: answered, pod, patched } = answer(call)
    if (answered.decision.outcome !== 'injected' || !isGuaranteed(pod)) return
    assert.ok(isGuaranteed(patched))
    tried += 1
  })
  assert.ok(
    tried > RUNS / 10,
    `${tried} of ${RUNS} pods are Guaranteed and have observers; too few`,
  )
})

/** Returns the metrics of an answer that have a tool; empty if the pod got no observers. */
function toolsOf({ decision }: PodReview): readonly Observer[] {
  const observers = decision.outcome === 'injected' ? decision.observers : []
  return observers.filter(({ metric }) => metric.tool !== undefined)
}

/** Checks a rule on pods that get tools. Most generated pods request tools. */
function alwaysWithTools(
  rule: (answered: Answered, tools: readonly Observer[], call: Call) => void,
): void {
  let tried = 0
  always(calls('tools'), (call) => {
    const answered = answer(call)
    const tools = toolsOf(answered.answer)
    if (tools.length === 0) return
    tried += 1
    rule(answered, tools, call)
  })
  assert.ok(tried > RUNS / 10, `${tried} of ${RUNS} pods got a tool; too few`)
}

t.test('only a namespace with the label gets tools', async () => {
  alwaysWithTools((_, __, { namespace }) => {
    const { labels } = mapOf(mapOf(namespace).metadata)
    assert.equal(mapOf(labels)['ridealong.dev/tools'], 'true')
  })
})

t.test('a tool changes nothing of a pod but its target, and nothing that was there', async () => {
  alwaysWithTools(({ answer: { decision }, pod, patched }, tools) => {
    assert.deepEqual(withoutObservers(patched, pod, metrics), pod)
    assert.ok('target' in decision)
    const [before, after] = [mapOf(pod.spec), mapOf(patched.spec)]
    const first = installersAdded(pod, patched).length
    const lists = [
      [mapsOf(before.initContainers), mapsOf(after.initContainers).slice(first)],
      [mapsOf(before.containers), mapsOf(after.containers)],
    ] as const
    const changed = lists.flatMap(([received, sent]) => {
      return received.flatMap((container, index) => {
        const { restartPolicy: _, ...same } = mapOf(sent[index])
        const { restartPolicy: __, ...own } = container
        return isDeepStrictEqual(same, own) ? [] : [[container, mapOf(sent[index])] as const]
      })
    })
    assert.deepEqual(
      changed.map(([{ name }]) => name),
      [decision.target],
    )
    for (const [container, target] of changed) assertExtended(container, target, tools)
  })
})

const isAgent = (name: unknown) => LAUNCH_AGENT_NAMES.some((agent) => agent === name)

/** Returns the commands that a patch added to a pod; `orted` is the command of a generated pod. */
function agentsAddedTo({ spec }: Json): readonly string[] {
  const { initContainers, containers } = mapOf(spec)
  const env = [...mapsOf(initContainers), ...mapsOf(containers)].flatMap((container) =>
    mapsOf(container.env),
  )
  const values = env.flatMap(({ name, value }) => (isAgent(name) ? String(value) : []))
  return values.filter((value) => value !== 'orted')
}

t.test('only a launcher forwards variables, and only of tools for all pods', async () => {
  const counts = new Map<boolean, number>()
  alwaysWithTools(({ answer: { decision }, pod, patched }, tools, call) => {
    assert.ok('forwarding' in decision)
    const isLauncher = LAUNCHERS.slice(0, 2).some((labels) => {
      return isDeepStrictEqual(mapOf(pod.metadata).labels, labels)
    })
    assert.equal(decision.forwarding.isLauncher, isLauncher)
    const isForSome = asked(call, 'cpu-tool.ridealong.dev/pods') !== undefined
    const forwarded = tools.filter(({ metric }) => !isForSome || metric.name !== 'cpu-tool')
    const agents = agentsAddedTo(patched)
    const isForwarding = isLauncher && forwarded.length > 0
    counts.set(isForwarding, (counts.get(isForwarding) ?? 0) + 1)
    assert.equal(agents.length, isForwarding ? LAUNCH_AGENT_NAMES.length : 0)
    const folders = forwarded.map(({ metric }) => `${metric.tool?.results.mountPath}`)
    assert.ok(agents.every((agent) => folders.every((folder) => agent.includes(`-d ${folder} &&`))))
    assert.ok(agents.every((agent) => /; (orted|prted)$/.test(agent)))
  })
  assert.ok([true, false].every((isForwarding) => Number(counts.get(isForwarding)) > RUNS / 50))
})

/** Checks that the additions to a target are those of its tools, and conflict with nothing. */
function assertExtended(container: Json, target: Json, tools: readonly Observer[]): void {
  const names = mapsOf(container.env).map(({ name }) => name)
  const added = mapsOf(target.env).slice(names.length)
  const env = added.filter(({ name }) => !isAgent(name))
  const wanted = tools.flatMap(({ metric }) => metric.tool?.variables ?? [])
  assert.deepEqual(new Set(env.map(({ name }) => name)), new Set(wanted.map(({ name }) => name)))
  for (const { name, value } of env) {
    const parts = wanted.filter((variable) => variable.name === name)
    const separator = parts[0]?.separator
    if (separator === undefined) {
      assert.ok(!names.includes(name), `${name} is replaced`)
      continue
    }
    const values = `${value}`.split(separator)
    const expected = names.includes(name) ? [`$(${name})`] : []
    assert.deepEqual(values.slice(0, -parts.length), expected)
  }
  const kept = mapsOf(container.volumeMounts).length
  const paths = tools.flatMap(({ metric: { tool } }) => [
    ...(tool?.mounts ?? []).map(({ mountPath }) => [mountPath, true]),
    [tool?.results.mountPath, undefined],
  ])
  const mounts = mapsOf(target.volumeMounts).slice(kept)
  assert.deepEqual(
    mounts.map(({ mountPath, readOnly }) => [mountPath, readOnly]),
    paths,
  )
}

/** Returns the tools by their image, in the order of their observers. */
function byImage(tools: readonly Observer[]): readonly (readonly [Observer, ...Observer[]])[] {
  const groups = Map.groupBy(tools, ({ metric: { tool } }) => tool && toolImage(tool).image)
  return [...groups.values()] as never
}

t.test('installers are first, and observers last, with one volume for each image', async () => {
  const sizes = new Set<string>()
  alwaysWithTools((answered, tools) => {
    const { pod, patched } = answered
    const installers = installersAdded(pod, patched)
    const groups = byImage(tools)
    sizes.add(groups.map((group) => group.length).join(' '))
    assert.deepEqual(
      namesOf(installers),
      groups.flatMap(([{ metric }]) => (metric.tool?.installer ? `${metric.name}-install` : [])),
    )
    for (const { restartPolicy } of installers) assert.equal(restartPolicy, undefined)
    const { initContainers, containers } = mapOf(patched.spec)
    const all = namesOf([...mapsOf(initContainers), ...mapsOf(containers)])
    for (const name of namesOf(installers)) {
      assert.equal(all.filter((other) => other === name).length, 1)
    }
  })
  for (const each of ['1', '1 1', '2', '2 1'])
    assert.ok(sizes.has(each), `no pod has ${each} tools`)
})

t.test('each image has a volume, of which its observers have their own folders', async () => {
  alwaysWithTools((answered, tools) => {
    const { pod, patched } = answered
    const installers = installersAdded(pod, patched)
    const [before, after] = [pod, patched].map(({ spec }) => namesOf(mapsOf(mapOf(spec).volumes)))
    const volumes = (after ?? []).slice(before?.length)
    assert.equal(new Set(after).size - new Set(before).size, volumes.length, 'a name occurs twice')
    const observers = Object.values(added(answered)).flat()
    for (const group of byImage(tools)) {
      const [{ metric }] = group
      const volume = volumes.find((name) => name.startsWith(`ridealong-tool-${metric.name}-`))
      const installer = installers.find(({ name }) => name === `${metric.name}-install`)
      const whole = metric.tool?.installer && [volume]
      assert.deepEqual(installer && namesOf(toolMounts(installer.volumeMounts)), whole)
      const names = group.map(({ metric }) => metric.name)
      const mounts = observers
        .filter(({ name }) => names.includes(`${name}`))
        .flatMap((each) => toolMounts(each.volumeMounts))
      assert.deepEqual(
        mounts.map(({ name, subPath }) => [name, subPath]),
        group.map(({ metric }) => [volume, metric.tool?.results.subPath]),
      )
    }
  })
})

/** Returns the bytes of a quantity in Mi or Gi. */
function bytesOf(quantity: unknown): number {
  const [, count, unit] = /^(\d+)([MG])i$/.exec(`${quantity}`) ?? []
  return Number(count) * 1024 ** (unit === 'G' ? 3 : 2)
}

t.test('an image volume is mounted only into the target, read-only', async () => {
  let mounted = 0
  alwaysWithTools(({ answer: { decision }, pod, patched }, tools) => {
    const count = mapsOf(mapOf(pod.spec).volumes).length
    const volumes = mapsOf(mapOf(patched.spec).volumes).slice(count)
    const images = volumes.filter(({ image }) => image !== undefined)
    const libraries = tools.filter(({ metric }) => metric.tool?.imageVolume !== undefined)
    const [first] = libraries
    assert.equal(images.length, first === undefined ? 0 : 1, 'both tools have one image')
    if (first === undefined) return
    mounted += 1
    const reference = first.metric.tool?.imageVolume?.image
    const [volume] = images
    assert.deepEqual(volume?.image, { reference, pullPolicy: 'IfNotPresent' })
    assert.match(`${volume?.name}`, new RegExp(`^ridealong-lib-${first.metric.name}-`))
    const { initContainers, containers } = mapOf(patched.spec)
    const mounts = [...mapsOf(initContainers), ...mapsOf(containers)].flatMap((container) => {
      return mapsOf(container.volumeMounts)
        .filter(({ name }) => name === volume?.name)
        .map(({ subPath, readOnly }) => [container.name, subPath, readOnly])
    })
    assert.ok('target' in decision)
    const folders = libraries.flatMap(({ metric }) => metric.tool?.mounts ?? [])
    assert.deepEqual(
      mounts,
      folders.map(({ subPath }) => [decision.target, subPath, true]),
    )
  })
  assert.ok(mounted > RUNS / 50, `${mounted} pods have an image volume; too few`)
})

t.test('the size of a volume is the sum of the sizes that its observers keep to', async () => {
  alwaysWithTools((answered) => {
    const { pod, patched } = answered
    const kept = new Map<unknown, number>()
    for (const { env, volumeMounts } of Object.values(added(answered)).flat()) {
      const [mount] = toolMounts(volumeMounts)
      const limit = mapsOf(env).find(({ name }) => name === 'RIDEALONG_TOOL_SIZE_LIMIT')
      assert.equal(mount === undefined, limit === undefined)
      if (mount) kept.set(mount.name, (kept.get(mount.name) ?? 0) + Number(limit?.value))
    }
    const count = mapsOf(mapOf(pod.spec).volumes).length
    const volumes = mapsOf(mapOf(patched.spec).volumes).slice(count)
    const sizes = volumes.flatMap(({ name, emptyDir }) => {
      return emptyDir === undefined ? [] : [[name, bytesOf(mapOf(emptyDir).sizeLimit)] as const]
    })
    assert.deepEqual(new Map(sizes), kept)
  })
})

t.test('a second review of a pod with tools changes nothing', async () => {
  alwaysWithTools(({ patched }, _, call) => {
    const { answer: again, operations } = answer(withObject(call, patched))
    assert.deepEqual(operations, [])
    assert.equal('reason' in again.decision && again.decision.reason, 'already-injected')
  })
})

t.test('a Guaranteed pod with tools stays Guaranteed', async () => {
  let guaranteed = 0
  alwaysWithTools(({ pod, patched }) => {
    if (!isGuaranteed(pod)) return
    assert.ok(isGuaranteed(patched))
    guaranteed += 1
  })
  assert.ok(guaranteed > RUNS / 30, `${guaranteed} Guaranteed pods; too few`)
})

t.test('the limit of storage of a pod grows by the size of the volumes of its tools', async () => {
  alwaysWithTools(({ pod, patched }, tools) => {
    const [before, after] = [pod, patched].map(({ spec }) => {
      const { initContainers, containers } = mapOf(spec)
      return [...mapsOf(initContainers), ...mapsOf(containers)].filter(({ resources }) => {
        return 'ephemeral-storage' in mapOf(mapOf(resources).limits)
      }).length
    })
    assert.equal(after, before === 0 ? 0 : Number(before) + tools.length)
  })
})

t.test('an invalid pod causes no internal error, and a patch only adds observers', async () => {
  always(nonsense, (call) => {
    const { answer: answered, operations, pod, patched } = answer(call)
    const { allowed } = answered.response.response
    const isDenied = !allowed && asked(call, 'ridealong.dev/on-error')?.trim() === 'deny'
    assert.ok(allowed || isDenied)
    assert.equal(answered.fault, undefined)
    if (operations.length === 0) return
    assert.deepEqual(withoutObservers(patched, pod, metrics), pod)
  })
})

t.test('a body and a Namespace of any shape get an answer or a message', async () => {
  always(fc.tuple(bodies, bodies), ([body, namespace]) => {
    const review = readReview(body)
    const settings = { catalog, excludedNamespaces, namespace: readNamespace('hpc', namespace) }
    if ('problem' in review) assert.notEqual(review.problem, '')
    else assert.equal(reviewPod(review, settings).response.response.uid, review.uid)
  })
})

t.test('answers to hostile reviews are fast and small, and keep every field', async () => {
  always(fc.tuple(attacks, fc.boolean()), ([call, inRules]) => {
    survive(call, inRules ? RULES : { limitRanges: [], resourceQuotas: [] })
  })
})
