import { readFileSync } from 'node:fs'
import t from 'tap'
import { run } from './command.ts'

const VERBS = [
  ...['serve', 'review', 'test', 'record', 'metrics', 'inject', 'annotate'],
  ...[
    'explain',
    'attach',
    'top',
    'stacks',
    'runs',
    'archive',
    'collect',
    'report',
    'compare',
    'convert',
  ],
  ...['doctor', 'disarm', 'completion'],
]

for (const verb of VERBS) {
  t.test(`ridealong ${verb} --help prints the usage, the exit codes and examples`, async (t) => {
    const { code, out, err } = await run([verb, '--help'])
    t.equal(code, 0)
    t.equal(err, '')
    t.match(out, new RegExp(`^Usage: ridealong ${verb} `))
    t.match(out, new RegExp(`\\nExamples:\\n( {2}\\$ ridealong ${verb}.*\\n)+$`))
    t.match(out, /\nExit codes:\n {2}0 {2}.*\n( {2}1 {2}.*\n)? {2}2 {2}.*\n\n/)
    for (const line of out.split('\n'))
      t.ok(line.length <= 80, `the line has at most 80 columns: ${line}`)
  })
}

t.test('ridealong --help prints every verb and the exit codes', async (t) => {
  const { code, out } = await run(['--help'])
  t.equal(code, 0)
  for (const verb of VERBS) t.match(out, new RegExp(`\\n {2}${verb} .*\\w`))
  t.match(out, /\nExit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n/)
  for (const line of out.split('\n'))
    t.ok(line.length <= 80, `the line has at most 80 columns: ${line}`)
})

t.test('ridealong --version prints the version of the package', async (t) => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  const { code, out } = await run(['--version'])
  t.equal(code, 0)
  t.equal(out, `${JSON.parse(manifest).version}\n`)
})

const SERVE = ['serve', '--cert', 'a', '--key', 'b', '--namespaces', 'c']

const WRONG: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['no verb', [], /^Usage: ridealong /],
  ['an unknown verb', ['get', 'pods'], /^error: unknown command 'get'\n$/],
  ['a misspelt verb', ['colect'], /^error: unknown command 'colect' \(did you mean collect\?\)\n$/],
  ['an unknown option', ['metrics', '--colour'], /unknown option '--colour'/],
  ['too many arguments', ['metrics', 'a', 'b'], /too many arguments/],
  ['no file', ['review'], /missing required argument 'file'/],
  ['no folder', ['test'], /missing required argument 'dir'/],
  [
    'an invalid value of --output',
    ['review', '-o', 'xml', 'a'],
    /'xml' is invalid.*decision, response/,
  ],
  ['an invalid value of -o', ['metrics', '-o', 'xml'], /'xml' is invalid.*table, yaml, json/],
  ['no certificate', ['serve'], /serve needs --cert and --key, or --own-certificate/],
  ['no key', ['serve', '--cert', 'a'], /serve needs --cert and --key, or --own-certificate/],
  [
    'no metrics',
    [...SERVE, '--no-built-in-metrics'],
    /--no-built-in-metrics needs --catalog, which has the metrics/,
  ],
  [
    'an own certificate and a certificate in a file',
    [...SERVE, '--own-certificate', 'a/b'],
    /--own-certificate.*cannot be used with/,
  ],
  [
    'an own certificate without a Lease',
    ['serve', '--own-certificate', 'a/b', '--certificate-host', 'c'],
    /--own-certificate needs --certificate-host, --certificate-lease and --webhook-conf/,
  ],
  [
    'a Secret without a namespace',
    ['serve', '--own-certificate', 'b'],
    /--own-certificate.*'b'.*NAMESPACE\/NAME/,
  ],
  [
    'a configuration whose name is a path',
    ['serve', '--webhook-configuration', 'a/b'],
    /--webhook-configuration.*'a\/b'.*the name of an object/,
  ],
  [
    'a duration of one minute',
    ['serve', '--certificate-duration', '1m'],
    /--certificate-duration.*'1m'.*at least two minutes/,
  ],
  [
    'a duration without a unit',
    ['serve', '--certificate-duration', '90'],
    /--certificate-duration.*'90'.*hours or at least two minutes/,
  ],
  [
    'both --namespaces and --kubeconfig',
    [...SERVE, '--kubeconfig', 'd'],
    /--namespaces.*cannot be used with/,
  ],
  [
    'a missing kubeconfig',
    ['serve', '--cert', 'a', '--key', 'b', '--kubeconfig', 'none'],
    /^ridealong: none: cannot be read as a kubeconfig: no such file or directory \(ENOENT\)/,
  ],
  ['a port that is too high', [...SERVE, '--port', '65536'], /--port.*'65536'.*from 0 to 65535/],
  ['a port that is a word', [...SERVE, '--port', 'https'], /--port.*'https'.*from 0 to 65535/],
  [
    'a status port below zero',
    [...SERVE, '--status-port=-1'],
    /--status-port.*'-1'.*from 0 to 65535/,
  ],
  ['a port with a decimal point', [...SERVE, '--port', '80.5'], /--port.*'80\.5'.*whole number/],
  ['a port in hexadecimal', [...SERVE, '--port', '0x50'], /--port.*'0x50'.*whole number/],
  ['an empty port', [...SERVE, '--port', ''], /--port.*whole number from 0 to 65535/],
  [
    'image holders in an invalid namespace',
    ['serve', '--cert', 'a', '--key', 'b', '--image-holders', 'a/b'],
    /--image-holders.*'a\/b'.*name of a namespace/,
  ],
  [
    '--image-holders and --namespaces',
    [...SERVE, '--image-holders', 'd'],
    /--image-holders.*cannot be used with/,
  ],
  [
    'a Lease without a namespace',
    ['serve', '--cert', 'a', '--key', 'b', '--scan-lease', 'a'],
    /--scan-lease.*'a' is invalid.*NAMESPACE\/NAME/,
  ],
  [
    'a Lease with an invalid name',
    ['serve', '--cert', 'a', '--key', 'b', '--scan-lease', 'a/b..c'],
    /--scan-lease.*'a\/b\.\.c' is invalid.*NAMESPACE\/NAME/,
  ],
  [
    '--scan-lease and --namespaces',
    [...SERVE, '--scan-lease', 'a/b'],
    /--scan-lease.*cannot be used with/,
  ],
  [
    'a scan interval without a Lease',
    ['serve', '--cert', 'a', '--key', 'b', '--scan-interval', '5'],
    /--scan-interval needs --scan-lease/,
  ],
  [
    'a value of --drain-quiet that is too large',
    [...SERVE, '--drain-quiet', '601'],
    /--drain-quiet.*'601'.*from 0 to 600/,
  ],
  ['an unknown log level', [...SERVE, '--log-level', 'loud'], /--log-level.*'loud'.*info/],
]

for (const [what, args, sentence] of WRONG) {
  t.test(
    `a command line with ${what} is reported on standard error, with exit code 2`,
    async (t) => {
      const { code, out, err } = await run(args)
      t.equal(code, 2)
      t.match(err, sentence)
      t.equal(out, '', 'nothing is written to standard output')
      t.notMatch(err, /\n\s+at /, 'the message has no stack trace')
      t.notMatch(err, 'defect')
    },
  )
}
