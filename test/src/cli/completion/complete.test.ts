import { Argument, Command, Option } from 'commander'
import t from 'tap'
import { complete, formatCompletion } from '../../../../src/cli/completion/complete.ts'

const METRICS = ['io-sysstat', 'perf-sysstat', 'pressure']

/** A program with every kind of option and argument that the verbs declare. */
function buildProgram(): Command {
  const program = new Command('ridealong').version('1.0.0')
  program
    .command('collect')
    .description('collect logs')
    .argument('[workload]')
    .option('-n, --namespace <name>')
    .option('-f, --filename <file...>', 'manifests')
    .option('--follow')
    .option('--catalog <dir>')
    .option('--to <path>')
    .option('--metric <metric>')
    .option('--metrics <metric,...>')
    .addOption(new Option('-o, --output <format>').choices(['jsonl', 'csv']))
  program.command('report').argument('<file...>')
  program.command('test').argument('<dir>')
  program.command('metrics').argument('[metric]')
  program.command('completion').addArgument(new Argument('<shell>').choices(['bash', 'zsh']))
  return program
}

const completed = async (line: string) => {
  const names = async () => METRICS
  const { candidates, otherwise } = await complete(buildProgram(), line.split(' '), names)
  const values = candidates.map(({ value }) => value)
  return values.length === 0 ? otherwise : values.join(' ')
}

const LINES: readonly (readonly [string, string, string])[] = [
  ['a verb', '', 'collect report test metrics completion help'],
  ['the rest of a verb', 'c', 'collect completion'],
  ['a verb after an option', '--version r', 'report'],
  ['an option of the program', '--', '--version --help'],
  ['an unknown verb', 'ride ', 'nothing'],
  ['options that begin alike', 'collect --f', '--filename --follow'],
  ['a short option', 'collect -o', '-o'],
  ['an unknown option', 'collect --x', 'nothing'],
  ['a choice', 'collect -o ', 'jsonl csv'],
  ['the rest of a choice', 'collect --output j', 'jsonl'],
  ['a choice after an equals sign', 'collect --output=c', 'csv'],
  ['a value of an unknown option', 'collect --x=', 'nothing'],
  ['an option with any value', 'collect --namespace ', 'nothing'],
  ['an argument with any value', 'collect ', 'nothing'],
  ['an argument after an option', 'metrics --follow pe', 'perf-sysstat'],
  ['an argument too many', 'metrics perf-sysstat ', 'nothing'],
  ['a file', 'collect -f ', 'files'],
  ['one more file', 'collect -f a.yaml ', 'files'],
  ['an option after files', 'collect -f a.yaml b.yaml --to', '--to'],
  ['a file after an equals sign', 'collect --to=o', 'files'],
  ['one more file of an argument', 'report a b ', 'files'],
  ['a folder', 'collect --catalog ', 'folders'],
  ['an argument that is a folder', 'test ', 'folders'],
  ['a metric', 'collect --metric pe', 'perf-sysstat'],
  ['one of several metrics', 'collect --metrics ', 'io-sysstat perf-sysstat pressure'],
  ['one more metric', 'collect --metrics io-sysstat,', 'io-sysstat,perf-sysstat io-sysstat,pressure'],
  ['an argument with choices', 'completion ', 'bash zsh'],
  ['an argument that looks like an option', 'completion -- --', 'nothing'],
  ['an argument after the last option', 'completion -- b', 'bash'],
  ['a verb to get help for', 'help t', 'test'],
]

for (const [what, line, expected] of LINES) {
  t.test(`completion of ${what}: "${line}"`, async (t) => {
    t.equal(await completed(line), expected)
  })
}

t.test('the catalog is read only to complete the name of a metric', async (t) => {
  const fail = () => t.fail('the catalog was read')
  await complete(buildProgram(), ['collect', '--to', ''], async () => [String(fail())])
})

t.test(
  'candidates are written with their descriptions, and the last line names the fallback',
  (t) => {
    const candidates = [
      { value: 'a', description: 'the first' },
      { value: 'b', description: '' },
    ]
    t.equal(formatCompletion({ candidates, otherwise: 'nothing' }), 'a\tthe first\nb\n:4\n')
    t.equal(formatCompletion({ candidates: [], otherwise: 'files' }), ':0\n')
    t.equal(formatCompletion({ candidates: [], otherwise: 'folders' }), ':16\n')
    t.end()
  },
)
