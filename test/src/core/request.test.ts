import t from 'tap'
import { scanBody } from '../../../src/core/body-scan.ts'
import { buildCatalog } from '../../../src/core/catalog.ts'
import { KEYS } from '../../../src/core/keys.ts'
import { readAnnotations, readPodAnnotations, readRequest } from '../../../src/core/request.ts'
import {
  CATALOG,
  metricDocument,
  perfOf,
  podOf,
  type Ride,
  ride,
  type Texts,
  variable,
} from './build.ts'

const ASKING = { 'ridealong.dev/inject': 'perf-sysstat' }

/** Reviews a pod with the annotations `own` in a namespace with the annotations `namespace`. */
const asking = (own: Texts, namespace: Texts = {}): Ride =>
  ride(podOf(own), { annotations: namespace })

const names = ({ observers }: Ride) => Object.keys(observers)

t.test(
  'inject is a list of names, in which spaces, empty items and repetitions are ignored',
  async (t) => {
    const both = ['perf-sysstat', 'io-sysstat']
    const rows: [string, string, string[]][] = [
      ['one name', 'perf-sysstat', ['perf-sysstat']],
      ['two names', 'perf-sysstat,io-sysstat', both],
      ['two names in another order', 'io-sysstat,perf-sysstat', ['io-sysstat', 'perf-sysstat']],
      ['two names with blanks', '  perf-sysstat ,\tio-sysstat\n', both],
      ['two names with empty items', ',perf-sysstat,, ,io-sysstat,', both],
      ['two names with repetitions', 'perf-sysstat,io-sysstat, perf-sysstat,perf-sysstat', both],
      ['the word true', 'true', ['perf-sysstat']],
      ['the word enabled', 'enabled', ['perf-sysstat']],
      ['the word true with blanks', ' true\n', ['perf-sysstat']],
      ['both words, twice', 'true,enabled,,true', ['perf-sysstat']],
      ['a word before a name', 'true,io-sysstat', both],
      ['a word after a name', 'io-sysstat, enabled', ['io-sysstat', 'perf-sysstat']],
      ['a word and the name of a default metric', 'true,perf-sysstat,io-sysstat', both],
    ]
    for (const [name, inject, expected] of rows) {
      const outcome = asking({ 'ridealong.dev/inject': inject })
      t.strictSame(names(outcome), expected, `the observers for ${name}`)
      t.strictSame(outcome.status?.metrics, expected, `the status annotation for ${name}`)
    }
  },
)

t.test('the name of a metric must match exactly', async (t) => {
  const wrong = [
    'True',
    'FALSE',
    'ENABLED',
    'all',
    '*',
    'perf-sysstat io-sysstat',
    'perf-sysstat;io-sysstat',
    'Perf-Sysstat',
    '__proto__',
    'constructor',
    'toString',
  ]
  for (const inject of wrong) {
    const outcome = asking({ 'ridealong.dev/inject': inject })
    t.equal(outcome.word, 'unknown-metric', `inject: "${inject}"`)
    t.strictSame(names(outcome), [], 'nothing is injected')
  }
  for (const other of ['io-sysstats', '__proto__', 'toString']) {
    const outcome = asking({ 'ridealong.dev/inject': `${other},perf-sysstat` })
    t.strictSame(names(outcome), ['perf-sysstat'])
    t.strictSame(outcome.left, Object.fromEntries([[other, 'unknown-metric']]))
  }
  t.match(
    asking({ 'ridealong.dev/inject': 'lmp' }).message,
    /"lmp".*io-sysstat, perf-sysstat, root-stat, trace-stat/,
    'the message names the unknown and the known metrics',
  )
  t.match(
    asking({ 'ridealong.dev/inject': 'io-sysstats' }).message,
    '"io-sysstats" is not a metric of the catalog (did you mean io-sysstat?); known metrics',
  )
})

t.test('the message about an unknown key names the key that was probably meant', async (t) => {
  const keys = { 'ridealong.dev/inject': 'perf-sysstat', 'ridealong.dev/on-eror': 'deny' }
  t.match(
    asking(keys).message,
    '"ridealong.dev/on-eror" is unknown (did you mean ridealong.dev/on-error?); known keys are',
  )
})

t.test('a word in capitals is an unknown metric, and the message names the word', async (t) => {
  for (const [written, word] of [
    ['True', 'true'],
    ['FALSE', 'false'],
    ['Enabled', 'enabled'],
    ['Disabled', 'disabled'],
  ] as const) {
    const { message } = asking({ 'ridealong.dev/inject': written })
    t.match(message, `"${word}" must be in lower case`, written)
  }
  const { message } = asking({ 'ridealong.dev/inject': 'lmp' })
  t.notMatch(message, 'lower case')
})

t.test('a word that excludes a pod cannot be in a list with other items', async (t) => {
  for (const inject of [
    'perf-sysstat,false',
    'false,perf-sysstat',
    'true,disabled',
    'disabled,enabled',
    'false,nobody',
    ' false , nobody',
  ]) {
    const outcome = asking({ 'ridealong.dev/inject': inject })
    t.equal(outcome.word, 'invalid-option', `inject: "${inject}"`)
    t.match(
      outcome.message,
      /"(false|disabled)" cannot be in a list with other items; write only "\1" to exclude/,
    )
    const denied = asking({ 'ridealong.dev/inject': inject, 'ridealong.dev/on-error': 'deny' })
    t.equal(denied.allowed, false)
  }
})

t.test('a catalog without default metrics has none for the word true', async (t) => {
  const catalog = { ...CATALOG, defaultMetrics: [] }
  const { word, message } = ride(podOf({ 'ridealong.dev/inject': 'enabled' }), { catalog })
  t.equal(word, 'unknown-metric')
  t.match(message, /"enabled" requests the catalog's default metrics, but it has none; known .*io-/)
})

t.test('a metric is a default of the request only if the list does not name it', async (t) => {
  const isDefault = (inject: string) => {
    const request = readRequest(readAnnotations({ [KEYS.inject]: inject }), new Map(), CATALOG)
    const metrics = request.kind === 'asked' ? request.metrics : []
    return metrics.map(({ metric, isDefault }) => [metric.name, isDefault])
  }
  t.strictSame(isDefault('true'), [['perf-sysstat', true]])
  t.strictSame(isDefault('true,perf-sysstat'), [['perf-sysstat', false]])
  t.strictSame(isDefault('enabled,io-sysstat'), [
    ['perf-sysstat', true],
    ['io-sysstat', false],
  ])
})

t.test('disabled means the same as false, also with blanks and repetitions', async (t) => {
  for (const inject of ['disabled', ' disabled ', 'false,false', 'false,, disabled']) {
    const own = { 'ridealong.dev/inject': inject }
    for (const namespace of [{}, ASKING]) {
      const outcome = asking(own, namespace)
      t.equal(outcome.word, 'opted-out', `a pod with "${inject}"`)
      t.equal(outcome.isPatched, false)
    }
    t.equal(asking({}, own).word, 'not-asked', `a pod in a namespace with "${inject}"`)
  }
})

t.test('a pod overrides the words of its namespace', async (t) => {
  const inject = (value: string) => ({ 'ridealong.dev/inject': value })
  t.strictSame(names(asking({}, inject('true'))), ['perf-sysstat'])
  t.strictSame(names(asking(inject('io-sysstat'), inject('true'))), ['io-sysstat'])
  t.strictSame(names(asking(inject('enabled'), inject('disabled'))), ['perf-sysstat'])
  t.equal(asking(inject('disabled'), inject('enabled')).word, 'opted-out')
  t.equal(asking(inject(''), inject('true')).word, 'not-asked')
})

t.test('a pod that requests no observers is not patched', async (t) => {
  const rows: [string, Texts, Texts, string][] = [
    ['no annotation', {}, {}, 'not-asked'],
    ['an empty list', { 'ridealong.dev/inject': '' }, {}, 'not-asked'],
    ['a list of blanks and commas', { 'ridealong.dev/inject': ' , ,' }, {}, 'not-asked'],
    [
      'an empty list in an annotated namespace',
      { 'ridealong.dev/inject': '' },
      ASKING,
      'not-asked',
    ],
    ['"false"', { 'ridealong.dev/inject': 'false' }, {}, 'opted-out'],
    ['"false" in an annotated namespace', { 'ridealong.dev/inject': 'false' }, ASKING, 'opted-out'],
    ['"false" with blanks', { 'ridealong.dev/inject': ' false ' }, ASKING, 'opted-out'],
    [
      'no annotation in a namespace with "false"',
      {},
      { 'ridealong.dev/inject': 'false' },
      'not-asked',
    ],
    [
      'no annotation in a namespace with an empty list',
      {},
      { 'ridealong.dev/inject': '' },
      'not-asked',
    ],
    ['only other annotations', { 'ridealong.dev/mode': 'container' }, {}, 'not-asked'],
    ['only another annotation, which is invalid', { 'ridealong.dev/mode': 'x' }, {}, 'not-asked'],
  ]
  for (const [name, own, namespace, word] of rows) {
    const outcome = asking(own, namespace)
    t.equal(outcome.word, word, `a pod with ${name}`)
    t.equal(outcome.isPatched, false, `a pod with ${name} is not patched`)
  }
})

t.test(
  'a pod inherits the annotations of its namespace, and overrides each key separately',
  async (t) => {
    const namespace = {
      'ridealong.dev/inject': 'io-sysstat',
      'ridealong.dev/mode': 'container',
      'ridealong.dev/target-container': 'nobody',
      'ridealong.dev/target-command': 'lmp',
      'ridealong.dev/on-error': 'deny',
      'perf-sysstat.ridealong.dev/rate': '7',
      'perf-sysstat.ridealong.dev/max-log': '9',
    }
    const denied = asking({}, namespace)
    t.equal(denied.word, 'unknown-target-container')
    t.equal(denied.allowed, false, 'on-error of the namespace applies')
    t.equal(asking({ 'ridealong.dev/on-error': 'admit' }, namespace).allowed, true)

    const annotations = { ...ASKING, 'ridealong.dev/target-container': 'app' }
    const inherited = asking(annotations, namespace)
    t.strictSame(names(inherited), ['perf-sysstat'], "only the pod's own metrics are injected")
    t.equal(inherited.status?.mode, 'container')
    t.equal(variable(perfOf(inherited), 'RIDEALONG_TARGET_COMMAND'), 'lmp')
    t.equal(variable(perfOf(inherited), 'RIDEALONG_OPTION_RATE'), '7')

    const mixed = asking(
      {
        ...annotations,
        'ridealong.dev/mode': 'native',
        'ridealong.dev/target-command': 'mdrun',
        'perf-sysstat.ridealong.dev/rate': '3',
      },
      namespace,
    )
    t.equal(mixed.status?.mode, 'native')
    t.equal(variable(perfOf(mixed), 'RIDEALONG_TARGET_COMMAND'), 'mdrun')
    t.equal(variable(perfOf(mixed), 'RIDEALONG_OPTION_RATE'), '3')
    t.equal(
      variable(perfOf(mixed), 'RIDEALONG_OPTION_MAX_LOG'),
      '9',
      'an annotation that the pod does not have is inherited',
    )
    t.equal(asking(ASKING, { 'ridealong.dev/inject': 'false' }).word, 'injected')
  },
)

t.test('an option that is not set has the default of the catalog', async (t) => {
  const observer = perfOf(asking(ASKING))
  t.equal(variable(observer, 'RIDEALONG_OPTION_RATE'), '10')
  t.equal(variable(observer, 'RIDEALONG_OPTION_MAX_LOG'), '8')
  t.equal(variable(observer, 'RIDEALONG_OPTION_THREADS'), 'false')
  t.equal(variable(observer, 'RIDEALONG_OPTION_UNIT'), 'KiB')
})

t.test('an option must be of the type and within the bounds that the catalog sets', async (t) => {
  const rows: [string, string, string][] = [
    ['rate', '1', '1'],
    ['rate', '3600', '3600'],
    ['rate', ' 5 ', '5'],
    ['rate', '007', '7'],
    ['threads', 'true', 'true'],
    ['threads', ' false ', 'false'],
    ['unit', 'MiB', 'MiB'],
  ]
  for (const [option, written, value] of rows) {
    const outcome = asking({ ...ASKING, [`perf-sysstat.ridealong.dev/${option}`]: written })
    const name = `RIDEALONG_OPTION_${option.toUpperCase()}`
    t.equal(variable(perfOf(outcome), name), value, `${option}: "${written}"`)
  }
  const wrong: [string, string, string][] = [
    ['rate', '0', 'an integer from 1 to 3600'],
    ['rate', '3601', 'an integer from 1 to 3600'],
    ['rate', '-1', 'an integer from 1 to 3600'],
    ['rate', '+5', 'an integer from 1 to 3600'],
    ['rate', '1.5', 'an integer from 1 to 3600'],
    ['rate', '1e2', 'an integer from 1 to 3600'],
    ['rate', '0x10', 'an integer from 1 to 3600'],
    ['rate', '5s', 'an integer from 1 to 3600'],
    ['rate', '', 'an integer from 1 to 3600'],
    ['rate', '٣', 'an integer from 1 to 3600'],
    ['rate', '9'.repeat(400), 'an integer from 1 to 3600'],
    ['threads', 'yes', 'one of true, false'],
    ['threads', 'True', 'one of true, false'],
    ['threads', '1', 'one of true, false'],
    ['unit', 'kib', 'one of KiB, MiB'],
    ['unit', 'KiB,MiB', 'one of KiB, MiB'],
    ['unit', '', 'one of KiB, MiB'],
  ]
  for (const [option, written, sentence] of wrong) {
    const key = `perf-sysstat.ridealong.dev/${option}`
    const { word, message } = asking({ ...ASKING, [key]: written })
    t.equal(word, 'invalid-option', `${option}: "${written}"`)
    t.match(message, key)
    t.match(message, sentence)
  }
})

t.test('each metric has its own options', async (t) => {
  const { observers } = asking({
    'ridealong.dev/inject': 'perf-sysstat,io-sysstat',
    'io-sysstat.ridealong.dev/rate': '4',
  })
  const rates = Object.values(observers).map((observer) =>
    variable(observer, 'RIDEALONG_OPTION_RATE'),
  )
  t.strictSame(rates, ['10', '4'])
})

t.test('options of a metric that is not requested are ignored, even if invalid', async (t) => {
  const others: Texts[] = [
    { 'io-sysstat.ridealong.dev/rate': '0' },
    { 'io-sysstat.ridealong.dev/rat': '5' },
    { 'perf-hwcounters.ridealong.dev/rate': 'x' },
    { '__proto__.ridealong.dev/rate': 'x' },
    { 'constructor.ridealong.dev/name': 'x' },
    { 'a.perf-sysstat.ridealong.dev/rate': '0' },
  ]
  for (const other of others) {
    t.equal(asking({ ...ASKING, ...other }).word, 'injected', JSON.stringify(other))
    t.equal(asking(ASKING, other).word, 'injected', `${JSON.stringify(other)} of the namespace`)
  }
})

t.test('an unknown key of Ridealong in a pod or its namespace is an invalid option', async (t) => {
  const keys = [
    'ridealong.dev/rate',
    'ridealong.dev/Mode',
    'ridealong.dev/target_command',
    'ridealong.dev/',
    'ridealong.dev/inject ',
    'ridealong.dev/perf-sysstat',
    'ridealong.dev/__proto__',
    'ridealong.dev/constructor',
    'perf-sysstat.ridealong.dev/rates',
    'perf-sysstat.ridealong.dev/Rate',
    'perf-sysstat.ridealong.dev/',
    'perf-sysstat.ridealong.dev/constructor',
    'perf-sysstat.ridealong.dev/__proto__',
  ]
  for (const key of keys) {
    const own = asking({ ...ASKING, [key]: '5' })
    t.equal(own.word, 'invalid-option', key)
    t.match(own.message, JSON.stringify(key), 'the message names the key')
    t.equal(asking(ASKING, { [key]: '5' }).word, 'invalid-option', `${key} of the namespace`)
  }
  t.match(
    asking({ ...ASKING, 'ridealong.dev/targetCommand': 'lmp' }).message,
    'ridealong.dev/target-command',
    'the message names the valid keys',
  )
  t.match(
    asking({ ...ASKING, 'perf-sysstat.ridealong.dev/rates': '5' }).message,
    /rate\b.*max-log.*threads.*unit/,
    'the message names the valid options',
  )
})

t.test('keys of other projects are ignored', async (t) => {
  const others = [
    'example.com/ridealong.dev',
    'notridealong.dev/inject',
    'my-ridealong.dev/rate',
    'ridealong.dev.example.com/rate',
    'ridealong.device/inject',
    'ridealong/inject',
    'rate',
  ]
  for (const key of others) {
    const { word, isPatched } = asking({ [key]: 'perf-sysstat' })
    t.equal(word, 'not-asked', key)
    t.equal(isPatched, false)
    t.equal(
      asking({ ...ASKING, [key]: 'nonsense' }).word,
      'injected',
      `${key} beside the key inject`,
    )
  }
})

t.test('an existing status annotation is not an unknown key', async (t) => {
  const left = '{"outcome":"left","reason":"host-pid","message":"m"}'
  t.equal(asking({ ...ASKING, 'ridealong.dev/status': left }).word, 'injected')
})

t.test('the mode is native, which is the default, or container', async (t) => {
  const rows: [string, string][] = [
    ['native', 'native'],
    ['container', 'container'],
    [' container ', 'container'],
  ]
  for (const [written, mode] of rows) {
    const { status } = asking({ ...ASKING, 'ridealong.dev/mode': written })
    t.equal(status?.mode, mode, `"${written}"`)
  }
  t.equal(asking(ASKING).status?.mode, 'native', 'native is the default')
  for (const written of ['', 'Native', 'sidecar', 'native,container', 'constructor']) {
    const { word, message } = asking({ ...ASKING, 'ridealong.dev/mode': written })
    t.equal(word, 'invalid-option', `"${written}"`)
    t.match(message, 'one of native, container')
  }
})

t.test('a metric whose observer must run before the application needs the mode native', (t) => {
  const catalog = buildCatalog(
    [metricDocument('any'), metricDocument('early', { onlyMode: 'native' })],
    '00000000',
  )
  const read = (inject: string, mode?: string) => {
    const own = { [KEYS.inject]: inject, ...(mode && { [KEYS.mode]: mode }) }
    return readRequest(new Map(Object.entries(own)), new Map(), catalog)
  }
  t.match(read('any, early'), { kind: 'asked', mode: 'native' })
  t.match(read('any, early', 'native'), { kind: 'asked' })
  t.match(read('any', 'container'), { kind: 'asked' })
  const reason = 'invalid-option'
  const message =
    'annotation ridealong.dev/mode: metric early needs the mode native, because its observer ' +
    'must run before the application'
  t.match(read('any, early', 'container'), {
    kind: 'asked',
    metrics: [{ metric: { name: 'any' } }],
    left: [{ metric: 'early', reason, message }],
  })
  t.strictSame(read('early', 'container'), { kind: 'wrong', onError: 'admit', reason, message })
  t.end()
})

t.test('a target command is a regular expression of 1 to 256 printable characters', async (t) => {
  const command = (written: string) =>
    asking({ ...ASKING, 'ridealong.dev/target-command': written })
  const right = ['lmp', '^(lmp|mdrun)$', ' ', 'a b', '\\.x$', 'größe', '🚀', 'x'.repeat(256)]
  for (const written of [...right, '🚀'.repeat(256)]) {
    const outcome = command(written)
    t.equal(outcome.word, 'injected', JSON.stringify(written.slice(0, 20)))
    t.equal(
      variable(perfOf(outcome), 'RIDEALONG_TARGET_COMMAND')?.replaceAll('$$', '$'),
      written,
      'the observer gets the text unchanged',
    )
  }
  const wrong = [
    '',
    'x'.repeat(257),
    '🚀'.repeat(257),
    'l\0mp',
    'lmp\n',
    'l\rmp',
    'l\tmp',
    'lmp\u001b[2J',
    'l\u007fmp',
    'l\u0085mp',
    'l\ud800mp',
    'lmp(',
    '((((a{1,255}){1,255}){1,255}){1,255})',
  ]
  for (const written of wrong) {
    const { word, message } = command(written)
    t.equal(word, 'invalid-option', JSON.stringify(written.slice(0, 20)))
    t.match(message, 'ridealong.dev/target-command')
  }
  t.equal(
    variable(perfOf(asking(ASKING)), 'RIDEALONG_TARGET_COMMAND'),
    undefined,
    'without a target command, the observer has no such variable',
  )
})

t.test("a user's text in a message is quoted, short and printable", async (t) => {
  const wild = `\u001b[2J\n"${'x'.repeat(5000)}`
  const rows: [string, Texts][] = [
    ['a metric', { 'ridealong.dev/inject': wild }],
    ['a mode', { ...ASKING, 'ridealong.dev/mode': wild }],
    ['an option', { ...ASKING, 'perf-sysstat.ridealong.dev/rate': wild }],
    ['a key', { ...ASKING, [`ridealong.dev/${wild}`]: 'x' }],
    ['a target container', { ...ASKING, 'ridealong.dev/target-container': wild }],
    ['on-error', { ...ASKING, 'ridealong.dev/on-error': wild }],
  ]
  for (const [name, own] of rows) {
    const { message } = asking(own)
    t.match(message, /^[\x20-\x7e]+$/, `the message about ${name} is printable`)
    t.ok(message.length < 400, `the message about ${name} is short`)
  }
})

t.test('annotations that are not text are ignored', async (t) => {
  for (const nonsense of [null, 5, true, {}, ['perf-sysstat']]) {
    const pod = { metadata: { annotations: { 'ridealong.dev/inject': nonsense } } }
    const { spec } = podOf()
    t.equal(ride({ ...pod, spec }).word, 'not-asked', JSON.stringify(nonsense))
  }
})

t.test('annotations named __proto__, constructor or toString are ignored', async (t) => {
  const annotations = JSON.parse(
    '{"__proto__":{"ridealong.dev/inject":"perf-sysstat"},"constructor":"x","toString":"y"}',
  )
  const { word } = ride({ ...podOf(), metadata: { annotations } })
  t.equal(word, 'not-asked')
  const asked = JSON.parse(
    '{"ridealong.dev/inject":"perf-sysstat","__proto__":"x","constructor":"y"}',
  )
  t.equal(ride({ ...podOf(), metadata: { annotations: asked } }).word, 'injected')
})

t.test("only Ridealong's annotations are read, and only if they are text", async (t) => {
  const annotations = {
    'ridealong.dev/inject': 'perf-sysstat',
    'perf-sysstat.ridealong.dev/rate': '5',
    'example.com/else': 'x',
    'ridealong.dev/mode': 7,
  }
  t.strictSame(
    [...readAnnotations(annotations)],
    [
      ['ridealong.dev/inject', 'perf-sysstat'],
      ['perf-sysstat.ridealong.dev/rate', '5'],
    ],
  )
  t.equal(readAnnotations(undefined).size, 0)
})

t.test('all annotations are searched only if a key of Ridealong may be misspelt', async (t) => {
  let looks = 0
  const watched = (annotations: Texts) =>
    new Proxy(annotations, {
      ownKeys: (target) => {
        looks += 1
        return Reflect.ownKeys(target)
      },
    })
  const read = (annotations: Texts, more = '') => {
    looks = 0
    const source = scanBody(JSON.stringify(annotations) + more)
    return [...readPodAnnotations(watched(annotations), source, CATALOG).keys()]
  }
  const set = { ...ASKING, 'perf-sysstat.ridealong.dev/rate': '5' }
  const others = { 'example.com/a': 'ridealong', 'example.com/b': '\u2e2e \u0026' }
  t.strictSame(read({ ...others, ...set }).sort(), Object.keys(set).sort())
  t.equal(looks, 0)
  const misspelt = { ...set, 'perf-sysstat.ridealong.dev/raet': '5' }
  t.strictSame(read({ ...others, ...misspelt }), Object.keys(misspelt))
  t.equal(looks, 1)
  t.strictSame(read({}), [])
  t.equal(looks, 0)
  for (const more of ['ridealong.dev', '\\u0072', '\\u007A', '\\u002E', '\\u006f']) {
    t.strictSame(read({ ...others, ...set }, more), Object.keys(set))
    t.equal(looks, 1, more)
  }
})

t.test('readRequest() returns a request of the kind nothing, wrong or asked', async (t) => {
  const read = (own: Texts) => readRequest(readAnnotations(own), new Map(), CATALOG)
  t.strictSame(read({}), { kind: 'nothing', reason: 'not-asked' })
  t.match(read({ 'ridealong.dev/inject': 'x' }), { kind: 'wrong', reason: 'unknown-metric' })
  t.match(read({ ...ASKING, 'ridealong.dev/on-error': 'deny' }), {
    kind: 'asked',
    onError: 'deny',
    mode: 'native',
    targetContainer: undefined,
    targetCommand: undefined,
  })
})

t.test('an annotation with a value of more than 256 KiB is ignored', async (t) => {
  const limit = 256 * 1024
  const inject = 'perf-sysstat'
  const read = readAnnotations({ 'ridealong.dev/inject': inject.padEnd(limit) })
  t.equal(read.get('ridealong.dev/inject')?.trim(), inject)
  t.equal(readAnnotations({ 'ridealong.dev/inject': inject.padEnd(limit + 1) }).size, 0)
})
