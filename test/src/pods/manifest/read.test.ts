import t from 'tap'
import { readManifests } from '../../../../src/pods/manifest/read.ts'

function sentenceOf(text: string): string {
  try {
    readManifests('a.yaml', text)
    return ''
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : ''
  }
}

t.test('the texts of the documents together are the text of the file', async (t) => {
  const texts = [
    'a: 1\n---\nb: 2\n',
    '\ufeff# head\r\n---\r\na: 1\r\n...\r\n# between\r\n---\r\nb: 2',
    '%YAML 1.1\n---\na: 1\n---\n---\n# nothing\n',
    '{"a": 1}',
    '--- {a: 1}\n--- # x\nb: 2\n\n\n',
  ]
  for (const text of texts) {
    const parts = readManifests('a.yaml', text).map(({ start, end }) => text.slice(start, end))
    t.equal(parts.join(''), text)
  }
  t.strictSame(readManifests('a.yaml', ''), [])
})

t.test('each document has its number and the line of its first value', async (t) => {
  const places = readManifests('a.yaml', '# x\n\na: 1\n---\n\n# y\nb: 2\n')
  t.match(places, [
    { file: 'a.yaml', document: 1, line: 3 },
    { file: 'a.yaml', document: 2, line: 7 },
  ])
})

t.test('a stream of JSON objects has one document for each', async (t) => {
  const text = '\ufeff{"a": "}\\"{"}\r\n{"b": [{}]}{"c": 1}\n'
  const documents = readManifests('a.json', text)
  t.strictSame(
    documents.map(({ value, line, isJson }) => ({ value, line, isJson })),
    [
      { value: { a: '}"{' }, line: 1, isJson: true },
      { value: { b: [{}] }, line: 2, isJson: true },
      { value: { c: 1 }, line: 2, isJson: true },
    ],
  )
  t.equal(documents.map(({ start, end }) => text.slice(start, end)).join(''), text)
})

t.test('YAML values are read as kubectl reads them', async (t) => {
  const [{ value } = { value: undefined }] = readManifests(
    'a.yaml',
    'a: &a {x: yes, mode: 0644}\nb: {<<: *a, z: "no"}\nc: off\n',
  )
  t.strictSame(value, { a: { x: true, mode: 420 }, b: { x: true, mode: 420, z: 'no' }, c: false })
})

t.test('a number that JSON does not have may be replaced by a later key', async (t) => {
  const readValue = (text: string) => readManifests('a.yaml', text)[0]?.value
  t.strictSame(readValue('a: .inf\na: 1\n'), { a: 1 })
  t.strictSame(readValue('x: &x {a: .nan}\nx: 1\nb: {<<: *x, a: 2}\n'), { x: 1, b: { a: 2 } })
  t.match(sentenceOf('a: 1\nb:\n  - c: 1\n    c: -.inf\n'), /line 4: -.inf is not a number/)
})

const BOMB = ['a0: &a0 [x, x]']
for (let level = 1; level < 12; level += 1) {
  BOMB.push(
    `a${level}: &a${level} [${Array(9)
      .fill(`*a${level - 1}`)
      .join(', ')}]`,
  )
}

t.test('an error names the file, the document and the line', async (t) => {
  const wrong: Readonly<Record<string, RegExp>> = {
    'a: 1\n---\nb: [1\nc: 2\n': /^ManifestError: a\.yaml: document 2, line \d: Flow sequence .*]$/,
    'a: 1\n\n---\nb: *nope\n':
      /^ManifestError: a\.yaml: document 2, line 4: unresolved alias nope$/,
    'a: &a {b: 1}\nb: *a\nc: &d [*d]\n': /: document 1, line 3: the anchor d contains itself$/,
    'a: 1\nb: .inf\n': /: document 1, line 2: .inf is not a number that JSON has$/,
    'a: !!int x\n': /: document 1, line 1: "x" does not have the type of its tag$/,
    'a: {~: 1}\n': /: document 1, line 1: a key must be a string, a number or a boolean$/,
    'a: {[b]: 1}\n': /: document 1, line 1: a key must be a string, a number or a boolean$/,
    'a: 1\n<<: 5\n': /: document 1, line 2: the value of the merge key << must be a map or a/,
    'a:\n  b\nsecret\n':
      /: document 1, line 3: Implicit map keys need to be followed by map values$/,
    'a:\n\tb: 1\n': /^ManifestError: a\.yaml: document 1, line \d: .*[Tt]abs?/,
    '{"a": 1}\nb: 2\n': /^ManifestError: a\.yaml: document 1, line 2: Unexpected/,
    [`${BOMB.join('\n')}\n`]:
      /^ManifestError: a\.yaml: document 1, line 1: the document contains excessive aliasing/,
  }
  for (const [text, sentence] of Object.entries(wrong)) {
    t.match(sentenceOf(text), sentence)
    t.notMatch(sentenceOf(text), '\n', 'the message is one line')
    t.match(sentenceOf(text.replaceAll('\n', '\r\n')), sentence, 'with CRLF line ends')
  }
})

t.test('nesting that is too deep is an error, and does not end the process', async (t) => {
  const deep = /^ManifestError: a\.yaml: document 2, line 2: nested more than 500 levels deep/
  for (const level of ['[', '{a: ', '- ', '? '])
    t.match(sentenceOf(`---\n---\n${level.repeat(50_000)}`).replace('line 3', 'line 2'), deep)
  t.equal(sentenceOf(`${'['.repeat(100)}${']'.repeat(100)}`), '')
})
