import t from 'tap'
import { buildCatalog, covers, type Option, readOption } from '../../../src/core/catalog.ts'
import { metricDocument, podOf, ride, variable } from './build.ts'

t.test('a catalog lists its metrics in the order of their names', async (t) => {
  const documents = ['perf', 'io', 'a', 'perf-2'].map((name) => metricDocument(name))
  const names = ['a', 'io', 'perf', 'perf-2']
  t.strictSame([...buildCatalog(documents, 'r').metrics.keys()], names)
  t.strictSame([...buildCatalog(documents.toReversed(), 'r').metrics.keys()], names)
  t.equal(buildCatalog([], 'cafe0123').revision, 'cafe0123')
  t.equal(buildCatalog([], 'r').metrics.size, 0)
})

t.test('the last of two documents with the same name is used', async (t) => {
  const catalog = buildCatalog(
    [
      metricDocument('perf', { description: 'the first' }),
      metricDocument('io'),
      metricDocument('perf', { description: 'the second' }),
    ],
    'r',
  )
  t.equal(catalog.metrics.size, 2)
  t.equal(catalog.metrics.get('perf')?.description, 'the second')
})

t.test('a metric has the values of its document', async (t) => {
  const document = metricDocument('perf', { privilege: 'baseline' })
  const metric = buildCatalog([document], 'r').metrics.get('perf')
  const { description, privilege, container } = document.spec
  t.match(metric, { name: 'perf', description, privilege, container })
  t.equal(metric?.options.size, 0, 'options are not required')
})

t.test('toString and __proto__ are metrics only if the catalog contains them', async (t) => {
  const catalog = buildCatalog([metricDocument('constructor')], 'r')
  t.equal(catalog.metrics.has('toString'), false)
  t.equal(catalog.metrics.has('__proto__'), false)
  const { word } = ride(podOf({ 'ridealong.dev/inject': 'constructor' }), { catalog })
  t.equal(word, 'injected', 'a metric may be named constructor')
})

t.test(
  'an observer has a variable for each option, and the variables of the catalog',
  async (t) => {
    const description = 'd'
    const { container } = metricDocument('x').spec
    const catalog = buildCatalog(
      [
        metricDocument('perf', {
          options: {
            rate: { type: 'integer', minimum: 0, maximum: 9, default: 0, description },
            'max-log-size': { type: 'integer', minimum: 1, maximum: 9, default: 3, description },
            deep: { type: 'boolean', default: true, description },
            unit: { type: 'string', enum: ['$(HOME)', 'b'], default: '$(HOME)', description },
          },
          container: {
            ...container,
            imagePullPolicy: 'Always',
            args: ['--fast'],
            env: [{ name: 'TZ', value: 'UTC' }],
          },
        }),
      ],
      'r',
    )
    const asked = { 'ridealong.dev/inject': 'perf' }
    const observer = ride(podOf(asked), { catalog }).observers.perf
    if (observer === undefined) throw new Error('no observer')
    t.match(observer, { imagePullPolicy: 'Always', command: ['x'], args: ['--fast'] })
    const variables = [
      ['TZ', 'UTC'],
      ['RIDEALONG_OPTION_RATE', '0'],
      ['RIDEALONG_OPTION_MAX_LOG_SIZE', '3'],
      ['RIDEALONG_OPTION_DEEP', 'true'],
      ['RIDEALONG_OPTION_UNIT', '$$(HOME)'],
    ] as const
    for (const [name, value] of variables)
      t.equal(variable(observer, name), value, `the variable ${name}`)
    const set = ride(podOf({ ...asked, 'perf.ridealong.dev/max-log-size': '5' }), { catalog })
    const other = set.observers.perf
    if (other === undefined) throw new Error('no observer')
    t.equal(variable(other, 'RIDEALONG_OPTION_MAX_LOG_SIZE'), '5')
    t.equal(variable(other, 'RIDEALONG_OPTION_UNIT'), '$$(HOME)', 'a default value is escaped')
  },
)

t.test(
  'a valid option is read, and for an invalid option the valid values are returned',
  async (t) => {
    const description = 'd'
    const integer: Option = { type: 'integer', minimum: 0, maximum: 10, default: 1, description }
    const boolean: Option = { type: 'boolean', default: true, description }
    const text: Option = { type: 'string', enum: ['a', 'b c'], default: 'a', description }
    const right: [Option, string, string][] = [
      [integer, '0', '0'],
      [integer, '10', '10'],
      [integer, '010', '10'],
      [integer, '000000000000010', '10'],
      [integer, ' 3\n', '3'],
      [boolean, 'true', 'true'],
      [boolean, ' false', 'false'],
      [text, 'a', 'a'],
      [text, ' b c ', 'b c'],
    ]
    for (const [option, written, value] of right) {
      t.strictSame(readOption(option, written), { value }, `${option.type} "${written}"`)
    }
    const wrong: [Option, string, string][] = [
      [integer, '11', 'an integer from 0 to 10'],
      [integer, '-0', 'an integer from 0 to 10'],
      [integer, '1 0', 'an integer from 0 to 10'],
      [integer, '1.0', 'an integer from 0 to 10'],
      [integer, '', 'an integer from 0 to 10'],
      [integer, 'NaN', 'an integer from 0 to 10'],
      [boolean, 'TRUE', 'one of true, false'],
      [boolean, '', 'one of true, false'],
      [text, 'A', 'one of a, b c'],
      [text, 'b', 'one of a, b c'],
    ]
    for (const [option, written, expected] of wrong) {
      t.strictSame(readOption(option, written), { expected }, `${option.type} "${written}"`)
    }
  },
)

t.test('a granted privilege covers the same level and all lower levels', async (t) => {
  const levels = ['restricted', 'baseline', 'privileged'] as const
  for (const [granted, grant] of levels.entries()) {
    for (const [needed, need] of levels.entries()) {
      t.equal(covers(grant, need), granted >= needed, `${grant} is granted, and ${need} is needed`)
    }
  }
})

t.test(
  'blanks and leading zeros of a number are removed, and more than 15 digits are invalid',
  async (t) => {
    const option = {
      type: 'integer',
      minimum: 1,
      maximum: 9,
      default: 1,
      description: 'x',
    } as const
    t.strictSame(readOption(option, ' 005 '), { value: '5' })
    const tooLong = readOption(option, `${'0'.repeat(15)}5`)
    t.strictSame(tooLong, { expected: 'an integer from 1 to 9' })
  },
)
