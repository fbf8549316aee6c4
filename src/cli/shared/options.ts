import { type Command, InvalidArgumentError, Option } from 'commander'
import { PRIVILEGES } from '../../core/catalog.ts'
import { EXCLUDED_NAMESPACES, NAMESPACE_NAME } from '../../core/kubernetes/namespace-name.ts'

/** Adds the options of every verb that decides as the webhook does. */
export function withSettings(command: Command): Command {
  return command
    .option('--catalog <dir>', 'a folder of Metric documents, added to the built-in ones')
    .option('--observer-image <image>', "the image of the built-in metrics' observers")
}

/** Adds the same options, and those about the namespaces of pods. */
export function withNamespaces(command: Command): Command {
  return withSettings(command)
    .addOption(
      new Option(
        '--exclude-namespace <name...>',
        'namespaces that observers are kept out of',
      ).default(EXCLUDED_NAMESPACES),
    )
    .addOption(
      new Option(
        '--pod-security-default <level>',
        "what the cluster enforces in namespaces without a Pod Security label: the apiserver's defaults.enforce (default: privileged)",
      ).choices(PRIVILEGES),
    )
}

/** Builds the last part of the help: examples that use the name by which the program was called. */
export function examples(...lines: readonly string[]): (context: HelpContext) => string {
  return ({ command: { parent } }) => {
    const name = parent?.name() ?? ''
    return ['', 'Examples:', ...lines.map((line) => `  $ ${name} ${line}`)].join('\n')
  }
}

type HelpContext = { readonly command: Command }

/** Adds the option of every verb that connects to a cluster. */
export function withCluster(command: Command): Command {
  return command.option(
    '--kubeconfig <file>',
    'the cluster (default: as kubectl finds it, else the one around this pod)',
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

/** Validates the value of an option that becomes part of a path. */
export function namespaceName(text: string): string {
  if (NAMESPACE_NAME.test(text)) return text
  throw new InvalidArgumentError('It must be the name of a namespace.')
}

/** Validates the namespace and the name of an object: NAMESPACE/NAME. */
export function namespacedName(text: string): string {
  const [namespace = '', name = '', ...others] = text.split('/')
  const isName = name.length <= 253 && name.split('.').every((label) => NAMESPACE_NAME.test(label))
  if (NAMESPACE_NAME.test(namespace) && isName && others.length === 0) return text
  throw new InvalidArgumentError('It must be NAMESPACE/NAME.')
}
