import type { Command } from 'commander'
import { EXIT } from '../shared/errors.ts'
import { helpEnd } from '../shared/help.ts'
import { wholeNumber, withCluster } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

/** Declares the verb `record`. */
export function declareRecord(program: Command, session: Session): void {
  withCluster(program.command('record'))
    .description('record the AdmissionReviews of pods as test cases, with secrets redacted')
    .argument('<dir>', 'a folder for the cases; existing cases are not changed')
    .requiredOption(
      '--url <url>',
      'the address at which the apiserver reaches this machine: https://HOST:PORT (required)',
    )
    .option('--namespace <name...>', "the namespaces to record (default: the context's namespace)")
    .option(
      '--selector <labels>',
      'record only pods with these labels, as in kubectl: app=web,!legacy',
    )
    .option('--count <n>', 'stop after this number of pods', wholeNumber(1, 999_999))
    .option('--timeout <seconds>', 'stop after this time', wholeNumber(1, 86_400))
    .option('--host <address>', 'the address to listen on', '::')
    .option(
      '--port <port>',
      'the port to listen on (default: the port of the URL)',
      wholeNumber(1, 65_535),
    )
    .option(
      '--name <name>',
      'the name of the MutatingWebhookConfiguration, by which the apiserver orders webhooks',
      'ride-along-recorder',
    )
    .option('--force', 'replace an existing MutatingWebhookConfiguration of that name')
    .addHelpText(
      'after',
      helpEnd({
        ok: 'at least --count pods were recorded (without --count: one)',
        no: 'fewer pods were recorded',
        examples: [
          'record cases --url https://10.0.0.7:8443 --namespace hpc',
          'record cases --url https://10.0.0.7:8443 --count 4',
        ],
      }),
    )
    .action(async (dir, options) => {
      const { record } = await import('./record.ts')
      const isEnough = await record(dir, options, session)
      session.exitCode = isEnough ? EXIT.ok : EXIT.no
    })
}
