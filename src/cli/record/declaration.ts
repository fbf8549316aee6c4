import type { Command } from 'commander'
import { EXIT } from '../shared/errors.ts'
import { examples, wholeNumber, withCluster } from '../shared/options.ts'
import { printLine } from '../shared/output.ts'

/** Declares the verb `record`. */
export function declareRecord(program: Command): void {
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
      const { record } = await import('./record.ts')
      const isEnough = await record(dir, options, printLine)
      process.exitCode = isEnough ? EXIT.ok : EXIT.no
    })
}
