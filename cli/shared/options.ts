import { type Command, InvalidArgumentError, Option } from 'commander'
import { PRIVILEGES } from '../../src/core/catalog.ts'
import { EXCLUDED_NAMESPACES, NAMESPACE_NAME } from '../../src/core/kubernetes/namespace-name.ts'
import { DEFAULT_REVISION } from '../../src/core/namespaces/revision.ts'
import { OUTPUT_FORMATS } from '../../src/lib/output-format.ts'

/** Adds the options that determine the catalog. */
export function withSettings(command: Command): Command {
  return command
    .option('--catalog <dir>', 'a folder of metric documents to add to the built-in ones')
    .option('--observer-image <image>', 'the image of the observers of the built-in metrics')
}

/** Adds the option of verbs that can review with a catalog of the user's own. */
export function withBuiltInMetrics(command: Command): Command {
  return command.option('--no-built-in-metrics', 'offer only the metrics of --catalog')
}

/** Adds the options of `withSettings`, and the options for the namespaces of pods. */
export function withNamespaces(command: Command): Command {
  return withSettings(command)
    .addOption(
      new Option(
        '--exclude-namespace <name...>',
        'never inject observers in these namespaces',
      ).default(EXCLUDED_NAMESPACES, EXCLUDED_NAMESPACES.join(', ')),
    )
    .addOption(
      new Option(
        '--pod-security-default <level>',
        'the Pod Security level of namespaces without a label (default: privileged)',
      ).choices(PRIVILEGES),
    )
}

/** Adds the options of every verb that connects to a cluster. */
export function withCluster(command: Command): Command {
  return withContext(
    command.option(
      '--kubeconfig <file>',
      'the kubeconfig of the cluster (default: as for kubectl, else the cluster of this pod)',
    ),
  )
}

/** Adds the option for the context of the kubeconfig. */
export function withContext(command: Command): Command {
  return command.option('--context <name>', 'the context of the kubeconfig to use')
}

/** Adds the options of every verb that runs until it is stopped, and serves its status. */
export function withService(command: Command): Command {
  return command
    .option('--host <address>', 'the address to listen on', '::')
    .option(
      '--status-port <port>',
      'the HTTP port for /healthz, /readyz and /metrics',
      wholeNumber(0, 65535),
      8080,
    )
    .addOption(
      new Option('--log-level <level>', 'log messages of this level and above')
        .choices(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
        .default('info'),
    )
}

/** Adds the options of every verb that reads a cluster only for its catalog. */
export function withCatalogOfCluster(command: Command): Command {
  return withCluster(withSettings(command)).option(
    '--offline',
    'use the built-in catalog instead of the catalog of the cluster',
  )
}

/** Adds the option of every verb that reads the webhook configuration. */
export function withConfiguration(command: Command): Command {
  return command.option(
    '--webhook-configuration <name>',
    'the MutatingWebhookConfiguration (default: the one of the revision)',
  )
}

/** Adds the option of every verb that prints text, JSON or YAML. */
export function withOutput(command: Command): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'the output format')
      .choices(OUTPUT_FORMATS)
      .default('text'),
  )
}

/** Returns a parser for an option whose value is a whole number within bounds. */
export function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
    if (value >= minimum && value <= maximum) return value
    throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`)
  }
}

/** Validates the name of a namespace, which becomes part of an API path. */
export function namespaceName(text: string): string {
  if (NAMESPACE_NAME.test(text)) return text
  throw new InvalidArgumentError(
    'It must be the name of a namespace, for example ridealong-system.',
  )
}

/** Adds the options of every verb that reads runs: of the cluster, of an archive, or from files. */
export function withRuns(command: Command): Command {
  return withCluster(withSettings(command))
    .addOption(
      new Option(
        '--rows <folder>',
        'the folder in which the archive stores runs, which are then named run/NAME, or ' +
          's3://BUCKET[/PREFIX] (default: RIDEALONG_ROWS)',
      ),
    )
    .addOption(
      new Option(
        '-n, --namespace <name>',
        "the namespace of a workload (default: the context's namespace), or of run/NAME " +
          '(default: all)',
      ).argParser(namespaceName),
    )
}

/** Adds the option of every verb that collects the logs of runs of the cluster. */
export function withFollow(command: Command): Command {
  return command.option('-f, --follow', 'wait until the runs of the cluster have ended')
}

/** Validates the URL of a web server or service, to which paths are appended. */
export function webUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isWeb = url !== undefined && /^https?:$/.test(url.protocol)
  if (isWeb && `${url.username}${url.password}` === '' && !/[\s?#]/.test(text)) return text
  throw new InvalidArgumentError(
    'It must be a URL with http or https and without a query, for example https://runs.example.org.',
  )
}

/** Validates the namespace and the name of an object: NAMESPACE/NAME. */
export function namespacedName(text: string): string {
  const [namespace = '', name = '', ...others] = text.split('/')
  if (NAMESPACE_NAME.test(namespace) && isObjectName(name) && others.length === 0) return text
  throw new InvalidArgumentError(
    'It must be NAMESPACE/NAME, for example ridealong-system/ridealong-scan.',
  )
}

/** Validates the name of an object, which becomes part of an API path. */
export function objectName(text: string): string {
  if (isObjectName(text)) return text
  throw new InvalidArgumentError('It must be the name of an object, for example ridealong.')
}

/** Returns the option that selects one of several releases in a cluster. */
export function revisionOption(): Option {
  const description = 'the revision of the installation (default: the default release)'
  return new Option('--revision <name>', description).argParser(revisionName)
}

/** Validates the revision of a release. `default` is reserved for the default release. */
export function revisionName(text: string): string {
  if (NAMESPACE_NAME.test(text) && text !== DEFAULT_REVISION) return text
  throw new InvalidArgumentError(
    `It must be the revision of a release, for example canary, and not ${DEFAULT_REVISION}.`,
  )
}

function isObjectName(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => NAMESPACE_NAME.test(label))
}

const MINUTE_MS = 60_000

/** Parses a duration of hours or minutes (`2160h`, `90m`) into milliseconds. */
export function duration(text: string): number {
  const [, digits = '', unit] = /^(\d{1,6})([hm])$/.exec(text) ?? []
  const minutes = Number(digits) * (unit === 'h' ? 60 : 1)
  if (digits !== '' && minutes >= 2) return minutes * MINUTE_MS
  throw new InvalidArgumentError('It must be hours or at least two minutes: 2160h, 90m.')
}
