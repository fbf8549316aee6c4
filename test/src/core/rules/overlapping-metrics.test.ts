import t from 'tap'
import { buildCatalog } from '../../../../src/core/catalog.ts'
import { reviewNamespace } from '../../../../src/core/namespaces/arm-namespace.ts'
import { metricDocument, podOf, reviewOf, ride, type Texts } from '../build.ts'

const CATALOG = buildCatalog(
  [
    metricDocument('all', { includes: ['cpu', 'disk', 'elsewhere'] }),
    metricDocument('cpu'),
    metricDocument('disk'),
    metricDocument('other'),
  ],
  '0123abcd',
  ['all'],
)

const inject = (value: string) => ({ 'ridealong.dev/inject': value })

/** Returns the warnings of the webhook when a Namespace gets these annotations. */
function warningsOf(annotations: Texts): readonly string[] {
  const review = reviewOf({ metadata: { name: 'hpc', annotations } }, { name: 'hpc' })
  const settings = { excludedNamespaces: new Set<string>() }
  return reviewNamespace(review, CATALOG, settings).response.response.warnings ?? []
}

t.test('a pod gets metrics that measure the same, with a warning', async (t) => {
  const rows: [string, string[], string[]][] = [
    ['all,cpu', ['all', 'cpu'], ['ridealong: all measures what cpu measures; request only all']],
    ['cpu,true', ['cpu', 'all'], ['ridealong: all measures what cpu measures; request only all']],
    [
      'disk,other,cpu,all',
      ['disk', 'other', 'cpu', 'all'],
      ['ridealong: all measures what disk and cpu measure; request only all'],
    ],
    ['true,other', ['all', 'other'], []],
    ['cpu,disk,other', ['cpu', 'disk', 'other'], []],
  ]
  for (const [value, observers, warnings] of rows) {
    const outcome = ride(podOf(inject(value)), { catalog: CATALOG })
    t.equal(outcome.word, 'injected')
    t.strictSame(Object.keys(outcome.observers), observers, value)
    t.strictSame(outcome.warnings, warnings, value)
    t.strictSame(warningsOf(inject(value)).slice(1), warnings, `a Namespace with ${value}`)
  }
})

t.test('a namespace is warned about options of metrics that it does not request', async (t) => {
  const own = 'whose options begin with all.ridealong.dev/'
  t.strictSame(
    warningsOf({
      ...inject('true'),
      'cpu.ridealong.dev/rate': '5',
      'disk.ridealong.dev/pods': '0',
      'other.ridealong.dev/rate': '5',
      'all.ridealong.dev/pods': '0',
    }).slice(1),
    ['cpu.ridealong.dev/rate', 'disk.ridealong.dev/pods'].map(
      (key) => `ridealong: annotation ${key} has no effect on all, ${own}`,
    ),
  )
  const both = warningsOf({ ...inject('all,cpu'), 'cpu.ridealong.dev/pods': '0' })
  t.match(both, [/running pods/, /request only all/], 'the option applies to cpu')
  t.equal(both.length, 2)
  const single = warningsOf({ ...inject('other'), 'cpu.ridealong.dev/rate': '5' })
  t.equal(single.length, 1, 'no requested metric includes cpu')
})
