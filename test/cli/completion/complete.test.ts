import { Argument, Command, Option } from 'commander'
import t from 'tap'
import { complete, formatCompletion } from '../../../cli/completion/complete.ts'

const METRICS = [
  ...['cpu-profile', 'gpu', 'gpu-nvidia', 'io-sysstat', 'mpi-trace', 'nccl-ras', 'network'],
  ...['perf-sysstat', 'pressure', 'python-profile', 'torch-collectives', 'torch-trace'],
]

/** Returns a program with every kind of option and argument that the verbs declare. */
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
  program.command('report').argument('<run...>')
  program.command('review').argument('<file...>')
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

/** The word at the cursor, the typed line, and the candidates; if there are none, `otherwise`. */
const LINES: readonly (readonly [string, string, string])[] = [
  ['a verb', '', 'collect report review test metrics completion help'],
  ['the rest of a verb', 'c', 'collect completion'],
  ['a verb after an option', '--version rep', 'report'],
  ['an option of the program', '--', '--version --help'],
  ['an argument of an unknown verb', 'ride ', 'nothing'],
  ['the rest of an option', 'collect --f', '--filename --follow'],
  ['a short option', 'collect -o', '-o'],
  ['an unknown option', 'collect --x', 'nothing'],
  ['a value with fixed choices', 'collect -o ', 'jsonl csv'],
  ['the rest of a value with fixed choices', 'collect --output j', 'jsonl'],
  ['a value with fixed choices after an equals sign', 'collect --output=c', 'csv'],
  ['a value of an unknown option', 'collect --x=', 'nothing'],
  ['a value of an option that accepts any value', 'collect --namespace ', 'nothing'],
  ['the kind of a workload', 'collect mini', 'minicluster/'],
  ['several kinds of workloads', 'collect ray', 'raycluster/ rayjob/ rayservice/'],
  ['the name of a workload', 'collect job/', 'job/'],
  ['the rest of the name of a workload', 'collect job/l', 'rest'],
  ['an argument after an option of another verb', 'metrics --follow pe', 'perf-sysstat'],
  ['an argument that the verb does not accept', 'metrics perf-sysstat ', 'nothing'],
  ['a file as the value of an option', 'collect -f ', 'files'],
  ['a second file as the value of an option', 'collect -f a.yaml ', 'files'],
  ['an option after files', 'collect -f a.yaml b.yaml --to', '--to'],
  ['a file after an equals sign', 'collect --to=o', 'files'],
  ['a file as the third argument', 'review a b ', 'files'],
  ['the kind of a run', 'report mini', 'minicluster/'],
  ['a stored run as the second argument', 'report a run', 'run/'],
  ['the file of a run', 'report lam', 'files'],
  ['a run', 'report ', 'files'],
  ['a folder as the value of an option', 'collect --catalog ', 'folders'],
  ['a folder as an argument', 'test ', 'folders'],
  ['the rest of a metric', 'collect --metric pe', 'perf-sysstat'],
  [
    'the first of several metrics',
    'collect --metrics ',
    'true cpu-profile gpu gpu-nvidia io-sysstat mpi-trace nccl-ras network perf-sysstat ' +
      'pressure python-profile torch-collectives torch-trace',
  ],
  ['the default metrics after a metric', 'collect --metrics mpi-trace,tr', 'mpi-trace,true'],
  [
    'the second of several metrics',
    'collect --metrics io-sysstat,p',
    'io-sysstat,perf-sysstat io-sysstat,pressure io-sysstat,python-profile',
  ],
  ['an argument with fixed choices', 'completion ', 'bash zsh'],
  ['an argument after -- that looks like an option', 'completion -- --', 'nothing'],
  ['the rest of an argument after --', 'completion -- b', 'bash'],
  ['the verb after help', 'help t', 'test'],
]

for (const [what, line, expected] of LINES) {
  t.test(`the completion of ${what} ("${line}") is: ${expected}`, async (t) => {
    t.equal(await completed(line), expected)
  })
}

t.test('the catalog is not read to complete the name of a file', async (t) => {
  const fail = () => t.fail('the catalog was read')
  await complete(buildProgram(), ['collect', '--to', ''], async () => [String(fail())])
})

t.test(
  'candidates are written with their descriptions, and the last line is a directive of cobra',
  (t) => {
    const candidates = [
      { value: 'a', description: 'the first' },
      { value: 'b', description: '' },
    ]
    t.equal(formatCompletion({ candidates, otherwise: 'nothing' }), 'a\tthe first\nb\n:4\n')
    t.equal(formatCompletion({ candidates: [], otherwise: 'files' }), ':0\n')
    t.equal(formatCompletion({ candidates: [], otherwise: 'folders' }), ':16\n')
    t.equal(formatCompletion({ candidates: [], otherwise: 'rest' }), ':6\n')
    t.end()
  },
)
