import { type Command, Option } from 'commander'
import {
  examples,
  namespacedName,
  namespaceName,
  wholeNumber,
  withNamespaces,
} from '../shared/options.ts'

/** Declares the verb `serve`. */
export function declareServe(program: Command): void {
  withSources(withNamespaces(program.command('serve').description('answer the apiserver')))
    .requiredOption('--cert <file>', 'certificate, PEM; followed, so that it can be renewed')
    .requiredOption('--key <file>', "the certificate's private key, PEM")
    .option(
      '--client-ca <file>',
      'accept only clients with a certificate of these authorities, PEM; followed',
    )
    .option(
      '--client-name <name...>',
      'with --client-ca: accept only certificates with one of these common names or DNS names',
    )
    .option('--host <address>', 'address to listen on', '::')
    .option('--port <port>', 'HTTPS, for the apiserver', wholeNumber(0, 65535), 8443)
    .option(
      '--status-port <port>',
      'HTTP: /healthz, /readyz, /metrics',
      wholeNumber(0, 65535),
      8080,
    )
    .option(
      '--drain-quiet <seconds>',
      'close when no call came for so long',
      wholeNumber(0, 600),
      5,
    )
    .option('--drain-limit <seconds>', 'close after so long at the latest', wholeNumber(0, 600), 50)
    .addOption(
      new Option('--log-level <level>', 'the least that is logged')
        .choices(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
        .default('info'),
    )
    .addHelpText(
      'after',
      examples(
        'serve --cert tls.crt --key tls.key',
        'serve --cert tls.crt --key tls.key --namespaces ns.yaml',
      ),
    )
    .action(async (options) => (await import('./serve.ts')).serve(options))
}

/** The options that say where the server learns about namespaces and nodes. */
function withSources(command: Command): Command {
  return command
    .option(
      '--kubeconfig <file>',
      'the cluster (default: KUBECONFIG, else the one around this pod)',
    )
    .addOption(
      new Option(
        '--namespaces <file>',
        'instead of a cluster: Namespaces, LimitRanges, ResourceQuotas, as kubectl get -o yaml prints',
      ).conflicts('kubeconfig'),
    )
    .addOption(
      new Option(
        '--image-holders <namespace>',
        'whose DaemonSets keep images on nodes: what no node is known to hold rides nowhere',
      )
        .argParser(namespaceName)
        .conflicts('namespaces'),
    )
    .addOption(
      new Option(
        '--scan-lease <namespace/name>',
        'look for pods that asked and have no observers, while this replica holds the Lease of that name',
      )
        .argParser(namespacedName)
        .conflicts('namespaces'),
    )
    .option(
      '--scan-interval <seconds>',
      'between two such looks, five minutes without it',
      wholeNumber(1, 86_400),
    )
}
