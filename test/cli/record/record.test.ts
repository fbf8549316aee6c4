import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { openCaseFolder } from '../../../cli/record/record-files.ts'
import { readAddress } from '../../../cli/record/record-options.ts'
import { startRecording } from '../../../cli/record/recording.ts'
import { readRecording } from '../../../cli/shared/recording.ts'
import { reviewFile } from '../../cases/read.ts'
import { CATALOG } from '../../src/core/build.ts'
import { kubeconfigOf } from '../../stand-ins/kubeconfig.ts'
import { run } from '../command.ts'

const URL = ['--url', 'https://127.0.0.1:1']

const KUBECONFIG = kubeconfigOf('https://127.0.0.1:1')

const WRONG: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['no folder argument', URL, /missing required argument 'dir'/],
  ['no URL', ['DIR'], /required option '--url <url>' not specified/],
  ['a URL with a path', ['DIR', '--url', 'https://a:1/x'], /--url .* is not https:\/\/HOST:PORT/],
  [
    'an invalid selector',
    ['DIR', ...URL, '--selector', 'a>1'],
    /--selector: "a>1" is not a requirement/,
  ],
  ['the namespace kube-system', ['DIR', ...URL, '--namespace', 'kube-system'], /kube-system/],
  ['a count of zero', ['DIR', ...URL, '--count', '0'], /--count.*whole number from 1/],
  ['a cluster that does not answer', ['DIR', ...URL], /ECONNREFUSED/],
  ['a missing kubeconfig', ['DIR', ...URL, '--kubeconfig', 'none'], /^ridealong: none/],
]

for (const [what, args, sentence] of WRONG) {
  t.test(`record with ${what} fails with exit code 2, and creates no folder`, async (t) => {
    const folder = t.testdir({ kubeconfig: KUBECONFIG })
    const words = args.map((word) => (word === 'DIR' ? join(folder, 'cases') : word))
    const given = args.includes('--kubeconfig') ? [] : ['--kubeconfig', join(folder, 'kubeconfig')]
    const { code, out, err } = await run(['record', ...words, ...given])
    t.equal(code, 2)
    t.match(err, sentence)
    t.equal(out, '')
    t.notMatch(err, /\n\s+at |defect/)
    t.strictSame(readdirSync(folder), ['kubeconfig'], 'no folder is created')
  })
}

t.test('--url must be an https URL of a host and a port', async (t) => {
  for (const url of [
    '10.0.0.7:8443',
    'http://a:1',
    'https://u@a:1',
    'https://a:1/?b',
    'https://',
  ]) {
    t.throws(
      () => readAddress(url),
      {
        name: 'UsageError',
        message: new RegExp(`--url ${url.replace('?', '.')} is not https://HOST:PORT$`),
      },
      `${url} is refused`,
    )
  }
  const of = (host: string, port: number) => ({ host, port })
  t.match(readAddress('https://10.0.0.7:8443'), of('10.0.0.7', 8443))
  t.match(readAddress('https://recorder.example/'), of('recorder.example', 443))
  t.match(
    readAddress('https://[fd00::7]:8443'),
    of('fd00::7', 8443),
    'the host has no brackets, as in a certificate',
  )
})

const RECORDED = reviewFile('job-indexed')
const body = JSON.parse(readFileSync(RECORDED, 'utf8'))
const review = await readRecording(RECORDED)

const namespace = (labels: object) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'batch', labels },
})

/** Records one review `times` times, as at most `count` cases. */
async function recordInto(folder: string, times: number, count = Number.POSITIVE_INFINITY) {
  const said: string[] = []
  const ends: unknown[] = []
  const recording = startRecording({
    folder: await openCaseFolder(folder),
    catalog: CATALOG,
    count,
    read: async () => [namespace({ a: 'new' })],
    print: (line) => said.push(line),
    note: (line) => said.push(line),
    end: (trouble) => ends.push(trouble),
  })
  await Promise.all(Array.from({ length: times }, () => recording.take(review, body)))
  return { written: await recording.finish(), said, ends }
}

t.test('each of several pods with the same name is recorded as its own case', async (t) => {
  const folder = join(t.testdir(), 'cases')
  const { written, said } = await recordInto(folder, 3)
  t.equal(written, 3)
  t.equal(said[1], 'job-indexed-0-2: pod indexed-0- in batch')
  const names = ['job-indexed-0', 'job-indexed-0-2', 'job-indexed-0-3', 'namespaces.yaml']
  t.strictSame(readdirSync(folder).sort(), names)
  t.strictSame(
    readdirSync(join(folder, 'job-indexed-0')),
    ['review.json'],
    'no temporary file remains',
  )
})

t.test('a case and a Namespace that the folder already contains are not changed', async (t) => {
  const [review, namespaces] = ['a review', `# mine\n${JSON.stringify(namespace({ a: 'old' }))}\n`]
  const folder = t.testdir({
    'job-indexed-0': { 'review.json': review },
    'namespaces.yaml': namespaces,
  })
  const { said } = await recordInto(folder, 1)
  t.equal(readFileSync(join(folder, 'job-indexed-0', 'review.json'), 'utf8'), review)
  t.equal(readFileSync(join(folder, 'namespaces.yaml'), 'utf8'), namespaces)
  t.strictSame(readdirSync(folder).length, 3)
  t.match(said[0], /Namespace batch is in the folder already and is not changed/)
})

t.test('a recorded Namespace is appended to an existing namespaces.yaml', async (t) => {
  const others = '# theirs\nkind: Namespace\nmetadata: {name: other}\n'
  const folder = t.testdir({ 'namespaces.yaml': others })
  await recordInto(folder, 2)
  const text = readFileSync(join(folder, 'namespaces.yaml'), 'utf8')
  t.ok(text.startsWith(others), 'the existing text is unchanged')
  const names = parseAllDocuments(text).map((document) => document.toJS().metadata.name)
  t.strictSame(names, ['other', 'batch'])
})

t.test('record writes at most as many cases as --count', async (t) => {
  const { written, ends } = await recordInto(join(t.testdir(), 'cases'), 5, 2)
  t.equal(written, 2)
  t.strictSame(ends, [undefined], 'the recording ends once, without an error')
})

t.test('record does not start if namespaces.yaml in the folder is invalid', async (t) => {
  const folder = t.testdir({ 'namespaces.yaml': 'kind: Pod\n' })
  await t.rejects(recordInto(folder, 1), { name: 'UsageError', message: /namespaces.yaml: doc/ })
  t.strictSame(readdirSync(folder), ['namespaces.yaml'])
})
