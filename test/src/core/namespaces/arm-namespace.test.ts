import t from 'tap'
import type { Catalog } from '../../../../src/core/catalog.ts'
import { reviewNamespace } from '../../../../src/core/namespaces/arm-namespace.ts'
import type { Review } from '../../../../src/core/review.ts'
import { CATALOG, type Json, patchedBy, reviewOf } from '../build.ts'

const ASKING = { 'ridealong.dev/inject': 'perf-sysstat' }
const ARMED = { 'ridealong.dev/armed': 'true' }

interface NamespaceObject {
  readonly metadata: { readonly labels?: Json | null; readonly annotations?: Json | null }
}

const namespaceOf = (annotations?: Json | null, labels?: Json | null): NamespaceObject => ({
  metadata: {
    ...(annotations !== undefined && { annotations }),
    ...(labels !== undefined && { labels }),
  },
})

const NOTHING_EXCLUDED = { excludedNamespaces: new Set<string>() }

function write(
  object: unknown,
  more: Partial<Review> = {},
  excluded: readonly string[] = [],
  marksMoves = true,
) {
  const review = reviewOf(object, { namespace: 'hpc', name: 'hpc', ...more })
  const settings = { excludedNamespaces: new Set(excluded), marksMoves }
  const { outcome, response, fault } = reviewNamespace(review, CATALOG, settings)
  return {
    outcome,
    fault,
    allowed: response.response.allowed,
    warnings: response.response.warnings ?? [],
    isPatched: response.response.patch !== undefined,
    after: patchedBy<NamespaceObject>(object, response),
  }
}

t.test(
  'a namespace with the annotation inject is armed: it gets the label ridealong.dev/armed',
  async (t) => {
    const rows: [string, NamespaceObject, Json][] = [
      ['no labels', namespaceOf(ASKING), ARMED],
      ['labels of null', namespaceOf(ASKING, null), ARMED],
      ['empty labels', namespaceOf(ASKING, {}), ARMED],
      ['other labels', namespaceOf(ASKING, { team: 'hpc' }), { team: 'hpc', ...ARMED }],
      [
        'the label with the value false',
        namespaceOf(ASKING, { 'ridealong.dev/armed': 'false' }),
        ARMED,
      ],
      ['the label with an empty value', namespaceOf(ASKING, { 'ridealong.dev/armed': '' }), ARMED],
    ]
    for (const operation of ['CREATE', 'UPDATE']) {
      for (const [name, object, labels] of rows) {
        const { outcome, after, allowed } = write(object, { operation })
        t.equal(outcome, 'armed', `${operation} of a namespace with ${name}`)
        t.strictSame(after.metadata.labels, labels, `the labels of a namespace with ${name}`)
        t.strictSame(
          after.metadata.annotations,
          object.metadata.annotations,
          'the annotations are unchanged',
        )
        t.equal(allowed, true)
      }
    }
  },
)

t.test('a namespace that requests no observers loses the label ridealong.dev/armed', async (t) => {
  const rows: [string, Json | null | undefined][] = [
    ['no annotations', undefined],
    ['annotations of null', null],
    ['an empty inject', { 'ridealong.dev/inject': '' }],
    ['an inject with only a blank and a comma', { 'ridealong.dev/inject': ' ,' }],
    ['the inject "false"', { 'ridealong.dev/inject': 'false' }],
    ['the inject "disabled"', { 'ridealong.dev/inject': 'disabled' }],
    ['only other annotations of Ridealong', { 'ridealong.dev/mode': 'container' }],
  ]
  for (const [name, annotations] of rows) {
    for (const label of ['true', 'false', '']) {
      const labels = { team: 'hpc', 'ridealong.dev/armed': label }
      const { outcome, after } = write(namespaceOf(annotations, labels), { operation: 'UPDATE' })
      t.equal(outcome, 'disarmed', `a namespace with ${name} and the label "${label}"`)
      t.strictSame(after.metadata.labels, { team: 'hpc' }, `the labels of a namespace with ${name}`)
    }
  }
})

t.test('a namespace whose label is correct is not changed', async (t) => {
  const rows: [string, NamespaceObject][] = [
    ['the namespace has the annotation and the label', namespaceOf(ASKING, { ...ARMED, a: 'b' })],
    ['the namespace has neither the annotation nor the label', namespaceOf()],
    [
      'the namespace has only other annotations and labels',
      namespaceOf({ other: 'x' }, { a: 'b' }),
    ],
  ]
  for (const [name, object] of rows) {
    const { outcome, isPatched } = write(object)
    t.equal(outcome, 'unchanged', name)
    t.equal(isPatched, false, name)
  }
})

t.test('a namespace with an invalid request is armed, so that its pods get a reason', async (t) => {
  const { outcome, allowed } = write(namespaceOf({ 'ridealong.dev/inject': 'nobody' }))
  t.equal(outcome, 'armed')
  t.equal(allowed, true)
  const deny = { 'ridealong.dev/inject': 'nobody', 'ridealong.dev/on-error': 'deny' }
  t.equal(write(namespaceOf(deny)).allowed, true, 'a namespace is never denied')
})

t.test('a namespace with a word that requests the default metrics is armed', async (t) => {
  for (const inject of ['true', 'enabled', 'true,io-sysstat']) {
    const { outcome, warnings } = write(namespaceOf({ 'ridealong.dev/inject': inject }))
    t.equal(outcome, 'armed', inject)
    t.strictSame(warnings.length, 1, 'the only warning is about running pods')
  }
  const mixed = write(namespaceOf({ 'ridealong.dev/inject': 'true,false' }))
  t.equal(mixed.outcome, 'armed', 'its pods get the reason')
  t.match(mixed.warnings, [/invalid-option: .*"false" cannot be in a list with other items/])
})

t.test('an excluded namespace is never armed, and its annotation causes a warning', async (t) => {
  const asked = write(namespaceOf(ASKING), {}, ['hpc'])
  t.equal(asked.outcome, 'unchanged')
  t.match(asked.warnings, [/the administrator has excluded this namespace/])
  const labelled = write(namespaceOf(ASKING, ARMED), {}, ['hpc'])
  t.equal(labelled.outcome, 'disarmed')
  t.strictSame(labelled.after.metadata.labels, {})
  t.strictSame(
    write(namespaceOf(), {}, ['hpc']).warnings,
    [],
    'there is no warning without the annotation',
  )
  t.equal(write(namespaceOf(ASKING), {}, ['other']).outcome, 'armed')
})

t.test('a new annotation of a namespace causes a warning that states its effect', async (t) => {
  const rows: [RegExp, Json][] = [
    [/from now on get observers; running pods are not changed/, ASKING],
    [
      /unknown-metric: .*"nobody".*known metrics are cpu-profile, io-sysstat, perf-/,
      { 'ridealong.dev/inject': 'nobody' },
    ],
    [/invalid-option: .*rate.*1 to 3600/, { ...ASKING, 'perf-sysstat.ridealong.dev/rate': '0' }],
    [/invalid-option: .*ridealong.dev\/mod"/, { ...ASKING, 'ridealong.dev/mod': 'x' }],
    [/invalid-option: .*one of admit, deny/, { ...ASKING, 'ridealong.dev/on-error': 'x' }],
  ]
  for (const [warning, annotations] of rows) {
    for (const operation of ['CREATE', 'UPDATE']) {
      const { warnings } = write(namespaceOf(annotations), { operation, oldObject: namespaceOf() })
      t.equal(warnings.length, 1)
      t.match(warnings[0], warning, operation)
      t.match(warnings[0], /^ridealong: /)
    }
  }
  t.strictSame(
    write(namespaceOf({ 'ridealong.dev/mode': 'x' })).warnings,
    [],
    'there is no warning without inject',
  )
})

t.test(
  "an update causes a warning only if it changes Ridealong's annotations and keeps inject",
  async (t) => {
    const old = namespaceOf({ ...ASKING, other: 'a' })
    const rows: [number, string, Json][] = [
      [0, 'nothing changed', { ...ASKING, other: 'a' }],
      [0, 'another annotation changed', { ...ASKING, other: 'b' }],
      [0, 'another annotation was added', { ...ASKING, other: 'a', more: 'c' }],
      [0, 'the order changed', { other: 'a', ...ASKING }],
      [1, 'a value changed', { 'ridealong.dev/inject': 'io-sysstat' }],
      [1, 'a key was added', { ...ASKING, 'ridealong.dev/mode': 'container' }],
      [1, 'an option was added', { ...ASKING, 'perf-sysstat.ridealong.dev/rate': '5' }],
      [0, 'the request was removed', { other: 'a' }],
    ]
    for (const [count, name, annotations] of rows) {
      const { warnings } = write(namespaceOf(annotations), { operation: 'UPDATE', oldObject: old })
      t.equal(warnings.length, count, name)
    }
    const more = namespaceOf({ ...ASKING, 'ridealong.dev/mode': 'container' })
    const gone = write(namespaceOf(ASKING), { operation: 'UPDATE', oldObject: more })
    t.equal(gone.warnings.length, 1, 'a key was removed')
    const exchanged = write(
      namespaceOf({ ...ASKING, 'ridealong.dev/target-command': 'container' }),
      {
        operation: 'UPDATE',
        oldObject: more,
      },
    )
    t.equal(exchanged.warnings.length, 1, 'a key replaced another key')
  },
)

t.test(
  'an update that does not change the annotations sets a missing label without a warning',
  async (t) => {
    const object = namespaceOf(ASKING)
    const { outcome, warnings } = write(object, { operation: 'UPDATE', oldObject: object })
    t.equal(outcome, 'armed')
    t.strictSame(warnings, [])
  },
)

t.test('a namespace is changed only when it is created or updated', async (t) => {
  const rows: Partial<Review>[] = [
    { operation: 'DELETE' },
    { operation: 'CONNECT' },
    { operation: 'UPDATE', subResource: 'status' },
    { operation: 'UPDATE', subResource: 'finalize' },
  ]
  for (const review of rows) {
    const { outcome, isPatched, warnings, allowed } = write(namespaceOf(ASKING), review)
    t.equal(outcome, 'unchanged', JSON.stringify(review))
    t.equal(isPatched, false)
    t.equal(allowed, true)
    t.strictSame(warnings, [])
  }
})

t.test('a namespace that gets another revision is marked with the former revision', async (t) => {
  const canary = { 'ridealong.dev/revision': 'canary' }
  const blue = { 'ridealong.dev/revision': 'blue' }
  const from = (revision: string) => ({ 'ridealong.dev/moved-from': revision })
  const rows: [string, Json | undefined, Json | undefined, Json | undefined][] = [
    ['from the default release', { a: 'b' }, canary, { ...canary, ...from('default') }],
    ['to the default release', canary, { a: 'b' }, { a: 'b', ...from('canary') }],
    ['to the default release, without other labels', canary, undefined, from('canary')],
    ['to another revision', canary, blue, { ...blue, ...from('canary') }],
    [
      'and back, while it still has the mark',
      { ...blue, ...from('canary') },
      { ...canary, ...from('canary') },
      { ...canary, ...from('blue') },
    ],
  ]
  for (const [name, before, labels, expected] of rows) {
    const update = { operation: 'UPDATE', oldObject: namespaceOf({}, before) }
    const { outcome, after } = write(namespaceOf({}, labels), update)
    t.equal(outcome, 'moved', name)
    t.strictSame(after.metadata.labels, expected, name)
    const asking = write(namespaceOf(ASKING, labels), update)
    t.equal(asking.outcome, 'armed', `${name}, with a request`)
    t.strictSame(asking.after.metadata.labels, { ...expected, ...ARMED })
  }
})

t.test('a namespace that keeps its revision, or that no server settles, is not marked', (t) => {
  const canary = { 'ridealong.dev/revision': 'canary' }
  const [old, moved] = [namespaceOf({}, {}), namespaceOf({}, canary)]
  const update = { operation: 'UPDATE', oldObject: old }
  const marked = namespaceOf({}, { ...canary, 'ridealong.dev/moved-from': 'default' })
  const rows: [string, ReturnType<typeof write>][] = [
    ['the same revision', write(moved, { operation: 'UPDATE', oldObject: moved })],
    ['a second call for the same update', write(marked, update)],
    ['a new namespace', write(moved, { operation: 'CREATE', oldObject: null })],
    ['an excluded namespace', write(moved, update, ['hpc'])],
    ['a server without --mark-moves', write(moved, update, [], false)],
  ]
  for (const [name, { outcome, isPatched }] of rows) {
    t.equal(outcome, 'unchanged', name)
    t.equal(isPatched, false, name)
  }
  t.end()
})

t.test('a user cannot set the label moved-from', async (t) => {
  const from = (revision: string) => ({ 'ridealong.dev/moved-from': revision })
  const before = (labels: Json) => ({ operation: 'UPDATE', oldObject: namespaceOf({}, labels) })
  const rows: [string, Json, Parameters<typeof write>[1], Json][] = [
    ['on a new namespace', from('default'), { operation: 'CREATE', oldObject: null }, {}],
    [
      'on a namespace that does not move',
      { a: 'b', ...from('other') },
      before({ a: 'b' }),
      { a: 'b' },
    ],
    ['to another value', from('other'), before(from('canary')), from('canary')],
  ]
  for (const [name, labels, review, expected] of rows) {
    for (const marksMoves of [true, false]) {
      const { outcome, after, allowed } = write(namespaceOf({}, labels), review, [], marksMoves)
      t.ok(allowed)
      t.equal(outcome, 'moved', name)
      t.strictSame(after.metadata.labels, expected, name)
    }
    const excluded = write(namespaceOf({}, labels), review, ['hpc'])
    t.strictSame(excluded.after.metadata.labels, expected, `${name}, which is excluded`)
    const asking = write(namespaceOf(ASKING, labels), review)
    t.strictSame(asking.after.metadata.labels, { ...expected, ...ARMED })
  }
  const kept = write(namespaceOf({}, from('canary')), before(from('canary')))
  t.equal(kept.isPatched, false, 'the label of a namespace that moves is kept')
  t.equal(write(namespaceOf({}, {}), before(from('canary'))).isPatched, false, 'it can be removed')
})

t.test('a namespace with invalid fields is allowed unchanged', async (t) => {
  const rows: unknown[] = [
    undefined,
    null,
    'hpc',
    [],
    {},
    { metadata: null },
    { metadata: [] },
    { metadata: { annotations: [], labels: [] } },
    { metadata: { annotations: { 'ridealong.dev/inject': 7 } } },
    { metadata: { annotations: { 'ridealong.dev/inject': ['perf-sysstat'] }, labels: 'x' } },
  ]
  for (const object of rows) {
    const review = reviewOf(object, { name: 'hpc', oldObject: object })
    const { outcome, response, fault } = reviewNamespace(review, CATALOG, NOTHING_EXCLUDED)
    t.equal(outcome, 'unchanged', JSON.stringify(object))
    t.equal(response.response.allowed, true)
    t.equal(response.response.patch, undefined)
    t.equal(fault, undefined)
  }
})

t.test(
  'after a defect of the webhook, a namespace is allowed unchanged, and fault is the error',
  async (t) => {
    const broken: Catalog = { revision: 'x', metrics: null as never, defaultMetrics: [] }
    const { outcome, response, fault } = reviewNamespace(
      reviewOf(namespaceOf(ASKING), { uid: 'a-b-c' }),
      broken,
      NOTHING_EXCLUDED,
    )
    t.equal(outcome, 'unchanged')
    t.match(response.response, { uid: 'a-b-c', allowed: true })
    t.equal(response.response.patch, undefined)
    t.type(fault, Error)
    const fine = reviewNamespace(reviewOf(namespaceOf(ASKING)), CATALOG, NOTHING_EXCLUDED)
    t.equal(fine.fault, undefined)
  },
)
