import { type Command, Option } from 'commander'
import { helpEnd } from '../shared/help.ts'
import {
  duration,
  namespacedName,
  namespaceName,
  objectName,
  revisionName,
  wholeNumber,
  withBuiltInMetrics,
  withContext,
  withNamespaces,
  withService,
} from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

/** Declares the verb `serve`. */
export function declareServe(program: Command, session: Session): void {
  withServer(
    withRevision(withSources(withOwnCertificate(withNamespaces(program.command('serve'))))),
  )
    .description('run the webhook')
    .option('--cert <file>', 'the certificate, PEM; read again when it changes')
    .option('--key <file>', 'the private key, PEM; read again when it changes')
    .option(
      '--client-ca <file>',
      'accept only clients with a certificate from these authorities, PEM',
    )
    .option(
      '--client-name <name...>',
      'with --client-ca: accept only certificates with one of these common names or DNS names',
    )
    .addHelpText(
      'after',
      helpEnd({
        ok: 'the webhook was stopped by SIGTERM or SIGINT',
        examples: [
          'serve --cert tls.crt --key tls.key',
          'serve --cert tls.crt --key tls.key --namespaces ns.yaml',
        ],
      }),
    )
    .action(async (options) => (await import('./serve.ts')).serve(options, session))
}

/** Adds the options for a certificate that the webhook makes itself. */
function withOwnCertificate(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--own-certificate <ns/name>',
        'instead of --cert and --key: make the certificate, and keep it in this Secret',
      )
        .argParser(namespacedName)
        .conflicts(['cert', 'key', 'namespaces']),
    )
    .option(
      '--certificate-host <name...>',
      'with --own-certificate: the DNS names of the Service (required)',
    )
    .addOption(
      new Option(
        '--certificate-lease <ns/name>',
        'with --own-certificate: the Lease that a replica needs to renew it (required)',
      ).argParser(namespacedName),
    )
    .addOption(
      new Option(
        '--webhook-configuration <name>',
        'with --own-certificate: the MutatingWebhookConfiguration to trust it (required)',
      ).argParser(objectName),
    )
    .option(
      '--certificate-duration <time>',
      'with --own-certificate: its lifetime, in hours or minutes (default: 2160h)',
      duration,
    )
}

/** Adds the options for the addresses, the shutdown and the log. */
function withServer(command: Command): Command {
  return withService(command)
    .option('--port <port>', 'the HTTPS port for the apiserver', wholeNumber(0, 65535), 8443)
    .option(
      '--drain-quiet <seconds>',
      'at shutdown, close after this time without a call',
      wholeNumber(0, 600),
      5,
    )
    .option(
      '--drain-limit <seconds>',
      'at shutdown, close after this time at the latest',
      wholeNumber(0, 600),
      50,
    )
}

/** Adds the options for the sources of namespaces and images, and for the scan. */
function withSources(command: Command): Command {
  return withContext(withBuiltInMetrics(command))
    .option(
      '--kubeconfig <file>',
      'the kubeconfig of the cluster (default: KUBECONFIG, else the cluster of this pod)',
    )
    .addOption(
      new Option(
        '--namespaces <file>',
        'a file of Namespaces, LimitRanges and ResourceQuotas to use instead of a cluster',
      ).conflicts('kubeconfig'),
    )
    .addOption(
      new Option(
        '--image-holders <namespace>',
        'inject only observers whose image the DaemonSets in this namespace keep on a node',
      )
        .argParser(namespaceName)
        .conflicts('namespaces'),
    )
    .addOption(
      new Option(
        '--scan-lease <namespace/name>',
        'the Lease that a replica needs to report pods without the requested observers',
      )
        .argParser(namespacedName)
        .conflicts('namespaces'),
    )
    .option(
      '--scan-interval <seconds>',
      'the longest time between two searches for pods without observers (default: 300)',
      wholeNumber(1, 86_400),
    )
}

/** Adds the options for several releases in one cluster. */
function withRevision(command: Command): Command {
  return command
    .option(
      '--revision <name>',
      'repair and scan only namespaces with this label ridealong.dev/revision (default: without)',
      revisionName,
    )
    .option(
      '--mark-moves',
      'when a namespace gets another revision, set ridealong.dev/moved-from for 10 seconds',
    )
}
