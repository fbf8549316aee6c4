import { randomBytes } from 'node:crypto'
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { openArtifactFolder } from '../../../../src/runs/collect/artifacts.ts'
import { artifactLine, type PartCells, partsOf } from './artifact-lines.ts'

const OBSERVER = {
  namespace: 'hpc',
  pod: 'lammps-0',
  uid: 'uid',
  node: null,
  owner: null,
  restarts: 0,
  attempt: null,
  isPrevious: false,
  before: null,
  pod_index: null,
  container: 'cpu-profile',
  state: 'ended',
  message: null,
  notices: [],
  ended: null,
  podLimits: { cpu: null, memory: null },
  earlierPods: 0,
} as const

/** Collects the raw files of a log with these lines. */
async function collected(folder: string, lines: readonly string[], pod = 'lammps-0') {
  const log = openArtifactFolder(folder).open({ ...OBSERVER, pod })
  for (const line of lines) await log.push(line)
  return log.end()
}

/** Returns the path of each file below a folder, with its content. */
function filesIn(folder: string): ReadonlyMap<string, Buffer> {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const files = entries.filter((name) => lstatSync(join(folder, name)).isFile())
  return new Map(files.map((name) => [name, readFileSync(join(folder, name))]))
}

/** Content that gzip neither makes much smaller nor larger, in several parts. */
const CONTENT = Buffer.from('profile of lmp '.repeat(40) + randomBytes(500).toString('hex'))
const PATH = 'lammps-0/cpu-profile/cpu_7'

const tried = async (t: Test, parts: readonly PartCells[]) => {
  const folder = t.testdir({})
  return { ...(await collected(folder, parts.map(artifactLine))), found: filesIn(folder) }
}

t.test('the raw files of a log are written below the folders of pod and container', async (t) => {
  const folder = join(t.testdir({}), 'new/folder')
  const other = Buffer.alloc(100_000, 7)
  const parts = [...partsOf('cpu_7', CONTENT), ...partsOf('cpu_8.2', other)]
  const rows = [
    'METADATA START {}',
    '{"time":"x","notice":"no \\"artifact\\""}',
    'METADATA END',
    '',
  ]
  const result = await collected(folder, [...rows, ...parts.map(artifactLine), ...rows])
  t.strictSame(result, { files: 2, problems: [] })
  const expected = new Map([
    [PATH, CONTENT],
    ['lammps-0/cpu-profile/cpu_8.2', other],
  ])
  t.strictSame(filesIn(folder), expected)
})

const PARTS = partsOf('cpu_7', CONTENT)
const [FIRST, SECOND] = PARTS as [PartCells, PartCells]
const changed = (change: object) => PARTS.map((part) => ({ ...part, ...change }))

const HOSTILE: readonly (readonly [string, readonly PartCells[], RegExp])[] = [
  ['no first part', PARTS.slice(1), /cpu_7 is missing or incomplete: part 1 is missing$/],
  ['no second part', PARTS.toSpliced(1, 1), /cpu_7 .*: part 2 of \d+ is missing$/],
  ['no last part', PARTS.slice(0, -1), /cpu_7 .*: part \d+ of \d+ is missing$/],
  ['a part twice', PARTS.toSpliced(1, 0, SECOND, SECOND), /part 3 of \d+ is missing$/],
  ['parts in another order', PARTS.toReversed(), /part \d+ is missing$/],
  ['a part with another number of parts', PARTS.with(1, { ...SECOND, parts: 2 }), /part 2 of/],
  ['a part with another checksum', PARTS.with(1, { ...SECOND, crc32: '00000000' }), /part 2 of/],
  ['a part with another size', PARTS.with(1, { ...SECOND, bytes: 1 }), /part 2 of/],
  ['a wrong checksum', changed({ crc32: '00000001' }), /cpu_7 .*: its checksum does not match$/],
  ['too few bytes', changed({ bytes: CONTENT.length + 1 }), /it has \d+ instead of \d+ bytes$/],
  ['too many bytes', changed({ bytes: CONTENT.length - 1 }), /more than the expected \d+ bytes$/],
  ['more than 256 MiB', changed({ bytes: 2 ** 28 + 1 }), /bytes must be an integer from 1 to/],
  ['no bytes', changed({ bytes: 0 }), /bytes must be an integer from 1 to/],
  ['a huge number of parts', changed({ parts: 1e300 }), /part and parts must be integers/],
  ['more parts than there are', changed({ parts: 2 ** 53 - 1 }), /part \d+ of \d+ is missing$/],
  ['a part that is not compressed', [{ ...FIRST, parts: 1, data: 'AAAA' }], /incorrect header/],
  ['data that is not base64', changed({ data: 'AA A' }), /data must be base64/],
  ['an object as data', changed({ data: {} }), /data must be base64/],
  ['a checksum that is a number', changed({ crc32: 7 }), /crc32 must have eight hexadecimal/],
]

for (const [what, parts, problem] of HOSTILE) {
  t.test(`a raw file with ${what} is not written, and the message says why`, async (t) => {
    const { files, problems, found } = await tried(t, parts)
    t.equal(files, 0)
    t.equal(found.size, 0, 'there is no file, not even a temporary one')
    t.equal(problems.length, 1)
    t.match(problems[0], problem)
  })
}

t.test('a name that is not safe is refused', async (t) => {
  const names = [
    ...['../cpu_7', '..', '.', '', '/etc/passwd', 'a/b', 'a\\b', '.hidden', '-o', 'a\0', 'a\n'],
    ...['CON', 'con.txt', 'Lpt1', 'nul.', 'a.', 'a b', 'C:', 'a:stream', 'é', 'x'.repeat(129)],
    ...[null, 7, ['a'], { a: 1 }],
  ]
  for (const file of names) {
    const { files, problems, found } = await tried(t, changed({ file }))
    t.equal(files + found.size, 0, `${JSON.stringify(file)} is refused`)
    t.match(problems, [/a line about a raw file: file must have 1 to 128 letters/])
  }
  const long = 'x'.repeat(128)
  const { found } = await tried(t, partsOf(long, CONTENT))
  t.strictSame([...found.keys()], [`lammps-0/cpu-profile/${long}`])
  const result = await collected(t.testdir({}), PARTS.map(artifactLine), '../x')
  t.match(result.problems, [/the name of its pod or container is not safe as the name of a folder/])
})

t.test('a file that decompresses to more than its size stops at this size', async (t) => {
  const bomb = gzipSync(Buffer.alloc(2 ** 26))
  const parts = [{ ...FIRST, parts: 1, bytes: 1000, data: bomb.toString('base64') }]
  const { files, problems, found } = await tried(t, parts)
  t.strictSame([files, found.size], [0, 0])
  t.match(problems, [/it has more than the expected 1000 bytes/])
})

t.test('the raw files of a log have at most 1 GiB', async (t) => {
  const big = { ...FIRST, parts: 2, bytes: 2 ** 28 }
  const parts = [...'abcde'].map((file) => ({ ...big, file }))
  const { problems } = await tried(t, parts)
  t.match(problems[3], /raw file d .*: part 2 of 2 is missing$/)
  t.match(problems[4], /raw file e .*: the raw files of a log may have at most 1 GiB$/)
})

t.test('a file that exists is not overwritten, and the same content is no problem', async (t) => {
  const folder = t.testdir({})
  const lines = PARTS.map(artifactLine)
  t.match(await collected(folder, lines), { files: 1, problems: [] })
  t.match(await collected(folder, lines), { files: 1, problems: [] })
  const mine = CONTENT.toString('latin1').replace('lmp', 'LMP')
  writeFileSync(join(folder, PATH), mine)
  const { files, problems } = await collected(folder, lines)
  t.equal(files, 0)
  t.match(problems, [
    /cpu_7 exists with other content; remove it, or name another folder with --to/,
  ])
  t.strictSame(filesIn(folder), new Map([[PATH, Buffer.from(mine)]]))
})

t.test('a folder of a pod or a container that is a link is not followed', async (t) => {
  for (const link of ['lammps-0', 'lammps-0/cpu-profile']) {
    const folder = t.testdir({ elsewhere: {} })
    if (link.includes('/')) mkdirSync(join(folder, 'lammps-0'))
    symlinkSync(join(folder, 'elsewhere'), join(folder, link))
    const { files, problems } = await collected(folder, PARTS.map(artifactLine))
    t.equal(files, 0)
    t.match(problems, [/it cannot be written: .* is a link$/])
    t.equal(filesIn(folder).size, 0, 'nothing is written elsewhere')
  }
})

t.test('a link in the folder is not followed', async (t) => {
  const folder = t.testdir({ other: 'text' })
  mkdirSync(join(folder, 'lammps-0/cpu-profile'), { recursive: true })
  for (const name of ['cpu_7', '.cpu_7.partial'])
    symlinkSync(join(folder, 'other'), join(folder, 'lammps-0/cpu-profile', name))
  const { files } = await collected(folder, PARTS.map(artifactLine))
  t.equal(files, 0)
  t.equal(readFileSync(join(folder, 'other'), 'utf8'), 'text')
})

t.test('messages about the raw files of a log are limited', async (t) => {
  const parts = Array.from({ length: 10_000 }, (_, at) => ({ ...SECOND, file: `cpu_${at}` }))
  const { problems } = await tried(t, parts)
  t.equal(problems.length, 101)
  t.match(problems.at(-1), /^\d+ other raw files are missing or incomplete$/)
})

t.test('a reason of the observer is the message', async (t) => {
  const line = artifactLine({ file: 'cpu_9', missing: 'the log has no room' })
  const { files, problems } = await collected(t.testdir({}), [line])
  t.equal(files, 0)
  t.strictSame(problems, ['raw file cpu_9 is not in the log: the log has no room'])
})

/** A change to the lines of two files: each of these is what a hostile or cut log can have. */
const CHANGES = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('drop' as const), at: fc.nat() }),
    fc.record({ kind: fc.constant('double' as const), at: fc.nat(), to: fc.nat() }),
    fc.record({ kind: fc.constant('swap' as const), at: fc.nat(), to: fc.nat() }),
    fc.record({
      kind: fc.constant('set' as const),
      at: fc.nat(),
      key: fc.constantFrom('file', 'part', 'parts', 'bytes', 'crc32', 'data', 'missing'),
      value: fc.oneof(
        fc.jsonValue(),
        fc.constantFrom('cpu_1', 'cpu_2', '../cpu_1', 'aux', 1, 2, 3, 2 ** 31, 2 ** 53, 'AAAA'),
      ),
    }),
    fc.record({ kind: fc.constant('cut' as const), at: fc.nat(), to: fc.nat() }),
  ),
  { maxLength: 4 },
)

type Change = typeof CHANGES extends fc.Arbitrary<(infer One)[]> ? One : never

function apply(lines: readonly string[], changes: readonly Change[]): readonly string[] {
  return changes.reduce((all, change) => (all.length === 0 ? all : applyOne(all, change)), lines)
}

function applyOne(lines: readonly string[], change: Change): readonly string[] {
  const at = change.at % lines.length
  const line = lines[at] ?? ''
  const to = 'to' in change ? change.to % lines.length : 0
  switch (change.kind) {
    case 'drop':
      return lines.toSpliced(at, 1)
    case 'double':
      return lines.toSpliced(to, 0, line)
    case 'swap':
      return lines.with(at, lines[to] ?? '').with(to, line)
    case 'cut':
      return lines.with(at, line.slice(0, change.to % (line.length + 1)))
    case 'set':
      return lines.with(at, withMember(line, change.key, change.value))
  }
}

function withMember(line: string, key: string, value: unknown): string {
  try {
    return artifactLine({ ...JSON.parse(line).artifact, [key]: value })
  } catch {
    return line
  }
}

t.test('from any log, each file that is written is one of the original files', async (t) => {
  const contents = new Map([
    ['cpu_1', CONTENT],
    ['cpu_2', Buffer.from(CONTENT.toString('latin1').toUpperCase())],
  ])
  const lines = [...contents].flatMap(([file, content]) => partsOf(file, content).map(artifactLine))
  const known = [...contents.values()].map((content) => content.toString('latin1'))
  let written = 0
  const property = fc.asyncProperty(CHANGES, async (changes) => {
    const folder = t.testdir({})
    const { files } = await collected(folder, apply(lines, changes))
    const found = filesIn(folder)
    const isGood = ([path, content]: readonly [string, Buffer]) =>
      path.startsWith('lammps-0/cpu-profile/') && known.includes(content.toString('latin1'))
    const bad = [...found].filter((one) => !isGood(one)).map(([path]) => path)
    if (bad.length > 0) throw new Error(`${bad} are outside, or have other content`)
    if (found.size !== files) throw new Error(`${found.size} instead of ${files} files`)
    written += files
  })
  await fc.assert(property, { numRuns: 300 })
  t.ok(written > 100, `${written} files were complete`)
})
