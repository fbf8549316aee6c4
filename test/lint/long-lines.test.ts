import t from 'tap'
import { findLongLines, WIDTH } from './long-lines.ts'

const words = (width: number) => 'word '.repeat(width / 5).padEnd(width, 'x')

/** Lines that must not have 101 columns: a description, the path, and the beginning of the line. */
const REJECTED: readonly (readonly [string, string, string])[] = [
  ['a line of code', 'src/a.ts', ''],
  ['a text in a line of code', 'test/a.test.ts', "const text = '"],
  ['a comment in Rust', 'observer/src/a.rs', '/// '],
  ['a comment in a shell script', 'observer/a.sh', '# '],
  ['a comment in YAML', 'charts/ridealong/values.yaml', '  # '],
  ['a comment after a value', 'charts/ridealong/values.yaml', 'port: 1 # '],
  ['a comment in a template', 'charts/ridealong/templates/_names.tpl', '{{- /* '],
  ['prose', 'docs/a.md', ''],
  ['an item of a list', 'README.md', '- '],
]

for (const [what, path, before] of REJECTED) {
  t.test(`${what} over 100 columns is a problem`, async (t) => {
    const fits = before + words(WIDTH - before.length)
    t.strictSame(findLongLines({ path, text: fits }), [])
    t.strictSame(findLongLines({ path, text: `\n${fits}x\n` }), [
      { path, line: 2, message: 'the line has 101 columns; break it so that it has at most 100' },
    ])
  })
}

const long = words(120)

const ACCEPTED: readonly (readonly [string, string, string])[] = [
  ['a row of a table', 'docs/a.md', `| ${long} |`],
  ['code in Markdown', 'docs/a.md', `\`\`\`console\n${long}\n\`\`\``],
  ['a regular expression in a line of its own', 'src/a.ts', `  /${long}/u,`],
  ['a line that only a URL makes long', 'src/a.ts', `// https://example.com/${'x'.repeat(100)}`],
  ['a text in Rust', 'observer/src/a.rs', `const LINE: &[u8] = b"${long}";`],
  ['a value in YAML', 'charts/ridealong/values.yaml', `key: ${long}`],
  ['a value with a comment of one word', 'a.yaml', `- uses: ${'x'.repeat(100)} # v1.0.0`],
  ['a recorded review', 'test/cases/pods/pod/review.json', long],
  ['a recorded log', 'test/logs/perf-sysstat.log', long],
  ['a definition of an operator', 'test/cluster/crds/a.yaml', `# ${long}`],
]

for (const [what, path, text] of ACCEPTED) {
  t.test(`${what} may be longer than 100 columns`, async (t) => {
    t.strictSame(findLongLines({ path, text }), [])
  })
}

t.test('prose after a block of code is checked, and a value after a comment is not', async (t) => {
  const markdown = findLongLines({ path: 'a.md', text: `\`\`\`\n${long}\n\`\`\`\n${long}` })
  t.strictSame(
    markdown.map(({ line }) => line),
    [4],
  )
  const text = `{{/*\n${long}\n*/}}\nkey: ${long}`
  t.strictSame(
    findLongLines({ path: 'a.yaml', text }).map(({ line }) => line),
    [2],
  )
})

t.test('a character outside ASCII counts as one column', async (t) => {
  t.strictSame(findLongLines({ path: 'a.ts', text: '→😀'.repeat(50) }), [])
})
