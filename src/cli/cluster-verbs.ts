import { type Command, Option } from 'commander'
import { OUTPUT_FORMATS } from '../lib/output-format.ts'
import { EXIT } from './shared/errors.ts'
import { examples, wholeNumber, withCluster } from './shared/options.ts'
import { print } from './shared/output.ts'

/** Declares the verb `doctor`. */
export function addDoctor(program: Command): void {
  withCluster(program.command('doctor'))
    .description('check an installation, from its certificate to a pod that asks')
    .option(
      '-n, --namespace <name>',
      "where a pod that asks is tried, and not kept (default: the context's)",
    )
    .option('--webhook-configuration <name>', 'the MutatingWebhookConfiguration (default: found)')
    .option(
      '--certificate <file>',
      "the server's certificate, PEM (default: read from its Secret, which also has the key)",
    )
    .option('--status-url <url>', "the webhook's status port, to ask it too; http or tcp")
    .addOption(
      new Option('-o, --output <form>', 'how to print').choices(OUTPUT_FORMATS).default('text'),
    )
    .addHelpText(
      'after',
      examples(
        'doctor',
        'doctor -n hpc -o json | jq .outcome',
        'doctor --status-url http://localhost:8080',
      ),
    )
    .action(async (options) => {
      const [{ doctor, exitCode }, { shown }] = await Promise.all([
        import('./doctor/doctor.ts'),
        import('../doctor/show.ts'),
      ])
      const checks = await doctor(options)
      print(shown(checks, options.output))
      process.exitCode = exitCode(checks)
    })
}

/** Declares the verb `disarm`. */
export function addDisarm(program: Command): void {
  withCluster(program.command('disarm').description('take away what would outlive an installation'))
    .option('--webhook-configuration <name>', 'the MutatingWebhookConfiguration, taken away first')
    .option('--cluster-role-binding <name>', 'the right to set the label, taken away next')
    .option('--namespace <name>', 'where the certificates are')
    .option('--certificate <name...>', 'a Certificate, and the Secret of its name, taken away last')
    .addHelpText('after', examples('disarm', 'disarm --webhook-configuration ridealong'))
    .action(async (options) => (await import('./disarm/disarm.ts')).disarm(options, printLine))
}

/** Declares the verb `record`. */
export function addRecord(program: Command): void {
  withCluster(program.command('record').description('write what the apiserver sends to files'))
    .argument('<dir>', 'a folder of cases, as `test` reads them; none that is there is changed')
    .requiredOption('--url <url>', 'where the apiserver reaches this machine: https://HOST:PORT')
    .option('--namespace <name...>', "of the pods (default: that of the kubeconfig's context)")
    .option('--selector <labels>', 'labels of the pods, as kubectl writes them: app=web,!legacy')
    .option('--count <n>', 'end after so many', wholeNumber(1, 999_999))
    .option('--timeout <seconds>', 'end after so long', wholeNumber(1, 86_400))
    .option('--host <address>', 'address to listen on', '::')
    .option('--port <port>', "port to listen on (default: the URL's)", wholeNumber(1, 65_535))
    .option(
      '--name <name>',
      'of the MutatingWebhookConfiguration; they are called in the order of their names',
      'ride-along-recorder',
    )
    .option('--force', 'replace a MutatingWebhookConfiguration of that name')
    .addHelpText(
      'after',
      examples(
        'record cases --url https://10.0.0.7:8443 --namespace hpc',
        'record cases --url https://10.0.0.7:8443 --selector app=lammps --count 4 --timeout 600',
      ),
    )
    .action(async (dir, options) => {
      const { record } = await import('./record/record.ts')
      const isEnough = await record(dir, options, printLine)
      process.exitCode = isEnough ? EXIT.ok : EXIT.no
    })
}

function printLine(line: string): void {
  print({ lines: [line] })
}
