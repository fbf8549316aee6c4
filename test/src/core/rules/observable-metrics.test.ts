import t from 'tap'
import { buildCatalog } from '../../../../src/core/catalog.ts'
import type { Tool, ToolVariable } from '../../../../src/core/tools/tool.ts'
import { askingPod, metricDocument, type Ride, ride } from '../build.ts'

/** Returns a metric with a tool that sets a variable. Each image has an installer of its own. */
function toolMetric(name: string, image: string, variable: ToolVariable, path = name) {
  const tool: Tool = {
    installer: { image, command: ['install'], resources: { limits: { cpu: '1m', memory: '1Mi' } } },
    sizeLimit: '16Mi',
    mounts: [{ subPath: `tool-${name}`, mountPath: `/tools/${path}` }],
    results: { subPath: `results-${name}`, mountPath: `/results/${path}` },
    variables: [variable],
  }
  return metricDocument(name, { tool })
}

const joins = (separator: ':' | ',') => ({ name: 'LD_PRELOAD', value: '/x.so', separator })

const catalog = buildCatalog(
  [
    toolMetric('one', 'a', joins(':')),
    toolMetric('two', 'a', joins(':')),
    toolMetric('comma', 'b', joins(',')),
    toolMetric('sets', 'c', { name: 'LD_PRELOAD', value: '/y.so' }),
    toolMetric('inside', 'd', { name: 'INSIDE', value: '1' }, 'one/inside'),
    metricDocument('one-install'),
    metricDocument('two-install'),
  ],
  '3f2a91c0',
)
const place = { catalog, labels: { 'ridealong.dev/tools': 'true' } }

function rideWith(inject: string, containers: readonly string[] = ['app']): Ride {
  const spec = { containers: containers.map((name) => ({ name, image: 'a' })) }
  return ride(askingPod(spec, { 'ridealong.dev/inject': inject }), place)
}

t.test('of two metrics that exclude each other, the pod gets the first', async (t) => {
  const rows: [string, Record<string, string>][] = [
    ['one,two', {}],
    ['one,comma', { comma: 'variable-taken' }],
    ['comma,one', { one: 'variable-taken' }],
    ['one,sets,two', { sets: 'variable-taken' }],
    ['one,inside', { inside: 'path-taken' }],
    ['inside,one', { one: 'path-taken' }],
    ['one,one-install', { 'one-install': 'name-taken' }],
    ['one-install,one', { one: 'name-taken' }],
    // The installer of `one` also installs `two`, which needs none of its own.
    ['one,two,two-install', {}],
    ['two-install,two,one', { two: 'name-taken' }],
  ]
  for (const [inject, left] of rows) {
    const ridden = rideWith(inject)
    t.equal(ridden.word, 'injected', inject)
    t.strictSame(ridden.left, left, inject)
    const again = ride(ridden.pod, place)
    t.equal(again.word, 'already-injected', `a second review of ${inject}`)
    t.equal(again.isPatched, false)
  }
})

t.test('a metric whose installer cannot have its name does not stop its group', async (t) => {
  const { left, observers } = rideWith('one,two', ['app', 'one-install'])
  t.strictSame(left, { one: 'name-taken' })
  t.strictSame(Object.keys(observers), ['two-install', 'two'])
})
