import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { run, start } from '../command.ts'

const FOLDER = fileURLToPath(new URL('../../workloads', import.meta.url))
const CORE = `${FOLDER}/core.yaml`
const POD = 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a}]}\n'
const ASKS = POD.replace('name: a}', 'name: a, annotations: {ridealong.dev/inject: perf-sysstat}}')

t.test(
  'a second inject changes nothing, and inject --undo restores every byte of the first input',
  async (t) => {
    const first = await run(['inject', '-f', CORE])
    t.equal(first.code, 0)
    const second = await run(['inject', '-f', '-'], first.out)
    t.equal(second.out, first.out)
    const { code, out, err } = await run(['inject', '--undo', '-f', '-'], first.out)
    t.strictSame({ code, out, err }, { code: 0, out: readFileSync(CORE, 'utf8'), err: '' })
  },
)

t.test(
  'a template without observers is reported with its file, document, line and reason',
  async (t) => {
    const { err } = await run(['inject', '-f', CORE])
    const lines = err.trimEnd().split('\n')
    t.equal(lines.length, 4)
    t.equal(
      lines[0],
      `ridealong: ${CORE}: document 8, line 66: DaemonSet agent: left: host-pid: hostPID ` +
        'cannot be combined with shareProcessNamespace, which observers need',
    )
    const flux = await run(['inject', '-f', `${FOLDER}/operators.yaml`])
    t.match(
      flux.err,
      /line 9: MiniCluster lammps: left: .* ridealong annotate, which writes spec\.pod\.annotations\n/,
    )
    t.match(flux.err, /Lolcow lolcow-pod: left: .* annotate the namespace\n/)
    const empty = 'apiVersion: apps.nvidia.com/v1alpha1\nkind: NIMPipeline\nspec: {}\n'
    const pipeline = await run(['inject', '-f', '-'], empty)
    t.match(pipeline.err, 'NIMPipeline: left: spec.services[].spec.annotations cannot be written')
    t.notMatch(pipeline.err, 'ridealong annotate', 'annotate could not write it either')
  },
)

t.test(
  '--metric requests observers only for a template without the annotation inject',
  async (t) => {
    const args = ['inject', '-f', '-', '--metric', 'io-sysstat,perf-sysstat']
    const option = ['--annotation', 'perf-sysstat.ridealong.dev/rate=3']
    const { code, out } = await run([...args, ...option], POD)
    t.equal(code, 0)
    t.match(out, '"metrics":["io-sysstat","perf-sysstat"]')
    t.match(out, '{name: RIDEALONG_OPTION_RATE, value: "3"}')
    t.notMatch(out, 'ridealong.dev/inject')
    const own = await run(args, ASKS)
    t.match(own.out, '"metrics":["perf-sysstat"]', "the pod's annotation has priority")
    const no = await run(args, ASKS.replace('perf-sysstat', '"false"'))
    t.match(no.err, 'left: opted-out')
  },
)

t.test(
  'a Namespace that requests observers may be in another input file, or in --namespaces',
  async (t) => {
    const annotations = '{ridealong.dev/inject: perf-sysstat}'
    const metadata = `metadata: {name: hpc, annotations: ${annotations}}`
    const namespace = `apiVersion: v1\nkind: Namespace\n${metadata}\n`
    const folder = t.testdir({ 'a.yaml': POD, 'b.yml': namespace, 'c.txt': 'no: manifest' })
    const both = await run(['inject', '-f', folder, '-n', 'hpc'])
    t.equal(both.code, 0)
    t.equal(parseAllDocuments(both.out).length, 2)
    t.match(both.out, '"outcome":"injected"')
    const single = await run([
      'inject',
      '-f',
      `${folder}/a.yaml`,
      '-n',
      'hpc',
      '--namespaces',
      `${folder}/b.yml`,
    ])
    t.match(single.out, '"outcome":"injected"')
    const elsewhere = await run(['inject', '-f', folder])
    t.match(elsewhere.err, 'left: not-asked')
  },
)

t.test('--include prints only documents of the kinds that it names', async (t) => {
  const { code, out, err } = await run(['inject', '-f', FOLDER, '--include', 'job,MPIJob'])
  t.equal(code, 0)
  t.equal(err, '')
  const kinds = parseAllDocuments(out).map((document) => document.toJS().kind)
  t.strictSame(kinds, ['Job', 'MPIJob'])
  const none = await run(['inject', '-f', CORE, '--include', 'Foo,Bar'])
  t.strictSame({ code: none.code, out: none.out }, { code: 2, out: '' })
  t.match(none.err, /no document has the kind Foo or Bar; the kinds are Namespace, Job, /)
})

t.test('--include prints only those items of a List that have one of the kinds', async (t) => {
  const list = JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: parseAllDocuments(`${ASKS}---\napiVersion: v1\nkind: Service\n`).map((one) =>
      one.toJS(),
    ),
  })
  const { out } = await run(['inject', '-f', '-', '--include', 'Pod'], list)
  const documents = parseAllDocuments(out).map((document) => document.toJS())
  t.match(documents, [{ kind: 'Pod', spec: { shareProcessNamespace: true } }])
  t.equal(documents.length, 1)
})

t.test('--output selects YAML or JSON, whether the input is YAML or JSON', async (t) => {
  const json = await run(['inject', '-f', CORE, '-o', 'json'])
  const yaml = await run(['inject', '-f', CORE])
  const { kind, items } = JSON.parse(json.out)
  t.equal(kind, 'List')
  const wanted = parseAllDocuments(yaml.out).map((document) => document.toJS())
  t.strictSame(items, wanted)
  const back = await run(['inject', '-f', '-', '-o', 'yaml'], JSON.stringify(wanted[3]))
  t.match(back.out, /^apiVersion: batch\/v1\nkind: Job\n/)
  t.strictSame(
    parseAllDocuments(back.out).map((document) => document.toJS()),
    [wanted[3]],
  )
  const one = await run(['inject', '-f', '-', '-o', 'json'], POD)
  t.equal(JSON.parse(one.out).kind, 'Pod')
})

t.test(
  'inject ends with exit code 0 and without a message if the reader closes the output pipe',
  async (t) => {
    const folder = t.testdir({ 'big.yaml': `${ASKS}---\n`.repeat(200) })
    const child = start(['inject', '-f', `${folder}/big.yaml`])
    let err = ''
    child.stderr?.on('data', (data) => {
      err += data
    })
    child.stdout?.once('data', () => child.stdout?.destroy())
    const [code] = await once(child, 'close')
    t.strictSame({ code, err }, { code: 0, err: '' })
  },
)

const BOMB = ['a0: &a0 [x, x]']
for (let level = 1; level < 12; level += 1) {
  BOMB.push(
    `a${level}: &a${level} [${Array(9)
      .fill(`*a${level - 1}`)
      .join(', ')}]`,
  )
}

const BAD: Readonly<Record<string, readonly [string, RegExp]>> = {
  'broken YAML': [
    `${ASKS}---\na: [1\nb: 2\n`,
    /standard input: document 2, line \d+: Flow sequence/,
  ],
  'broken YAML and Windows line ends': [
    `${ASKS}---\na: [1\nb: 2\n`.replaceAll('\n', '\r\n'),
    /document 2, line \d+: Flow/,
  ],
  'an alias bomb': [
    `${BOMB.join('\n')}\n`,
    /document 1, line 1: the document contains excessive aliasing/,
  ],
  'a merge key without an anchor': [
    'a: {<<: *none}\n',
    /document 1, line 1: unresolved alias none/,
  ],
  'nesting that is too deep': [
    '['.repeat(100_000),
    /document 1, line 1: nested more than 500 levels deep/,
  ],
  'no text': ['', /standard input: no YAML or JSON document was found/],
  'only comments': ['# a\n---\n# b\n', /standard input: no YAML or JSON document was found/],
  'an unknown metric': [
    `${ASKS}---\n${ASKS.replace('perf-sysstat', 'perf')}`,
    /document 2, line 6: Pod a: unknown-metric: .*known metrics are/,
  ],
  'an invalid option': [
    ASKS.replace('perf-sysstat}', 'perf-sysstat, perf-sysstat.ridealong.dev/rate: "0"}'),
    /document 1, line 1: Pod a: invalid-option: .*an integer from 1 to 3600/,
  ],
  'a pod that on-error: deny denies': [
    ASKS.replace('perf-sysstat}', 'perf-sysstat, ridealong.dev/on-error: deny}').replace(
      'spec: {',
      'spec: {hostPID: true, ',
    ),
    /document 1, line 1: Pod a: host-pid/,
  ],
}

for (const [what, [input, sentence]] of Object.entries(BAD)) {
  t.test(
    `an input with ${what} is reported in one line, with exit code 2 and no output`,
    async (t) => {
      const { code, out, err } = await run(['inject', '-f', '-'], input)
      t.strictSame({ code, out }, { code: 2, out: '' })
      t.match(err, sentence)
      t.match(err, /^ridealong: [^\n]*\n$/, 'the message is one line')
    },
  )
}

t.test('all invalid requests in a file are reported in one run', async (t) => {
  const { code, out, err } = await run(['inject', '-f', `${FOLDER}/hard-cases.yaml`])
  t.strictSame({ code, out }, { code: 2, out: '' })
  const places = err
    .trimEnd()
    .split('\n')
    .map((line) => /document (\d), line \d+: Pod (\S+):/.exec(line)?.slice(1))
  t.strictSame(places, [
    ['4', 'unknown-metric'],
    ['5', 'bad-option'],
    ['9', 'wrong-target'],
  ])
})

t.test(
  'unusable files and invalid command lines are reported, with exit code 2 and no output',
  async (t) => {
    const folder = t.testdir({ 'binary.yaml': Buffer.from([0xff, 0xfe, 0x61, 0x00]), empty: {} })
    const wrong: readonly (readonly [readonly string[], RegExp])[] = [
      [
        ['-f', `${folder}/none.yaml`],
        /cannot read .*none\.yaml: no such file or directory \(ENOENT\)/,
      ],
      [['-f', `${folder}/binary.yaml`], /binary\.yaml is not UTF-8 text/],
      [['-f', `${folder}/empty`], /empty: no YAML or JSON document was found/],
      [['-f', CORE, '--metric', 'perf'], /unknown-metric: .*known metrics are/],
      [['-f', CORE, '--annotation', 'a'], /--annotation a is not KEY=VALUE/],
      [['-f', CORE, '--annotation', 'a=b'], /a is not an annotation of Ridealong/],
      [['-f', CORE, '-o', 'xml'], /Allowed choices are yaml, json/],
      [[], /required option '-f, --filename/],
    ]
    for (const [args, sentence] of wrong) {
      const { code, out, err } = await run(['inject', ...args])
      t.strictSame({ code, out }, { code: 2, out: '' }, `arguments: ${args.join(' ')}`)
      t.match(err, sentence)
      t.notMatch(err, /\n +at /, 'the message has no stack trace')
    }
  },
)

t.test('inject refuses a template whose pods would get observers by index', async (t) => {
  const job =
    'apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  completionMode: Indexed\n' +
    '  template:\n' +
    '    metadata: {annotations: {ridealong.dev/inject: perf-sysstat, KEY: every:4}}\n' +
    '    spec: {containers: [{name: a}]}\n'
  for (const key of ['ridealong.dev/pods', 'perf-sysstat.ridealong.dev/pods']) {
    const { code, out, err } = await run(['inject', '-f', '-'], job.replace('KEY', key))
    t.strictSame({ code, out }, { code: 2, out: '' })
    t.match(
      err,
      /line 1: Job a: invalid-option: .*pods: inject .* template, which all pods share; let the/,
    )
  }
  const other = job.replace('KEY', 'io-sysstat.ridealong.dev/pods')
  t.equal((await run(['inject', '-f', '-'], other)).code, 0, 'the metric is not requested')
  const given = ['inject', '-f', '-', '--annotation', 'ridealong.dev/pods=0']
  t.equal((await run([...given, '--metric', 'perf-sysstat'], job)).code, 2)
})

t.test('inject of a pod decides by the labels of the pod', async (t) => {
  const pod = ASKS.replace('name: a, ', 'name: a, labels: {volcano.sh/task-spec: w}, ').replace(
    'perf-sysstat}',
    'perf-sysstat, ridealong.dev/pods: ROLE}',
  )
  const selected = await run(['inject', '-f', '-'], pod.replace('ROLE', 'w'))
  t.match(selected.out, '"outcome":"injected"')
  const other = await run(['inject', '-f', '-'], pod.replace('ROLE', 'master'))
  t.match(other.err, 'left: pod-not-selected: annotation ridealong.dev/pods: master does not sel')
})

t.test('inject --undo says if there is nothing to undo', async (t) => {
  const undo = ['inject', '--undo', '-f', '-']
  t.match(await run(undo, ASKS), {
    code: 0,
    out: ASKS,
    err: /^ridealong: no observer of inject was found; nothing was changed \(annotate --undo /,
  })
  const injected = await run(['inject', '--offline', '-f', '-'], ASKS)
  t.strictSame(await run(undo, injected.out), { code: 0, out: ASKS, err: '' })
})
