import t from 'tap'
import { countCodeLines } from './code-lines.ts'

/** A language, a text, and the number of its lines of code. */
const TEXTS: readonly (readonly [string, string, string, number])[] = [
  [
    'ts',
    'empty lines and comments',
    '\n// a\n/**\n * b\n */\nlet a = 1 // c\n\nlet b /* d */\n',
    2,
  ],
  ['ts', 'comments in strings', "const a = '// a'\nconst b = `\n// b\n\n`\nconst c = /[/*]/\n", 5],
  ['ts', 'a template with code', 'const a = `$\u007b\n// a\nb\n} /*`\nconst c = 1 /* */\n', 4],
  ['rs', 'comments', '//! a\nuse b;\n/* c\n d */\n/// e\nfn f() {} // g\n', 2],
  [
    'rs',
    'strings',
    'let a = "/*";\nlet b = r#"\n// " b\n"#;\nlet c = \'"\';\n// d\nlet d = \'\\\'\';\n',
    6,
  ],
  ['rs', 'lifetimes', "fn a<'a>(b: &'a str) {\n// c\n}\nstruct B<'a, 'b>(\n// d's\n&'a C);\n", 4],
  ['c', 'comments and strings', '/* a\n b */ int c;\nchar *d = "//";\nchar e = \'"\';\n// f\n', 3],
  ['h', 'a header', '/* a */\n#define B 1\n\n', 1],
  ['css', 'a rule', "/* a */\nb {\n  content: '/*';\n}\n", 3],
  [
    'py',
    'comments and docstrings',
    '"""a"""\ndef b():\n    """c\n    d"""\n    return "#"  # e\n',
    2,
  ],
  ['yaml', 'data', 'a: 1\n', 0],
]

for (const [language, what, text, lines] of TEXTS) {
  t.test(`${what} (${language})`, async (t) => {
    t.equal(countCodeLines({ path: `src/a.${language}`, text }), lines)
  })
}

t.test('the lines of a generated file do not count', async (t) => {
  t.equal(countCodeLines({ path: 'src/a.generated.ts', text: 'let a = 1\n' }), 0)
})
