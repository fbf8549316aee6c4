import { type Command, InvalidArgumentError, Option } from 'commander'
import { PRIVILEGES } from '../../core/catalog.ts'
import { EXCLUDED_NAMESPACES, NAMESPACE_NAME } from '../../core/kubernetes/namespace-name.ts'

/** The options of every verb that answers as the webhook would. */
export function withSettings(command: Command): Command {
  return command
    .option('--catalog <dir>', 'a folder of Metric documents, added to the built-in ones')
    .option('--observer-image <image>', "the image of the built-in metrics' observers")
}

/** And those that say where pods are to run. */
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

/** The help's last part: how the verb is called, by the name that its program was called by. */
export function examples(...lines: readonly string[]): (context: HelpContext) => string {
  return ({ command: { parent } }) => {
    const name = parent?.name() ?? ''
    return ['', 'Examples:', ...lines.map((line) => `  $ ${name} ${line}`)].join('\n')
  }
}

type HelpContext = { readonly command: Command }

/** The option of every verb that speaks to a cluster. */
export function withCluster(command: Command): Command {
  return command.option(
    '--kubeconfig <file>',
    'the cluster (default: as kubectl finds it, else the one around this pod)',
  )
}

/** Reads the value of an option that is a number. */
export function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
    if (value >= minimum && value <= maximum) return value
    throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`)
  }
}

/** Reads the value of an option that becomes a part of a path. */
export function namespaceName(text: string): string {
  if (NAMESPACE_NAME.test(text)) return text
  throw new InvalidArgumentError('It must be the name of a namespace.')
}

/** Reads the place of an object: NAMESPACE/NAME. */
export function namespacedName(text: string): string {
  const [namespace = '', name = '', ...others] = text.split('/')
  const isName = name.length <= 253 && name.split('.').every((label) => NAMESPACE_NAME.test(label))
  if (NAMESPACE_NAME.test(namespace) && isName && others.length === 0) return text
  throw new InvalidArgumentError('It must be NAMESPACE/NAME.')
}
