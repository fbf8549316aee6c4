import type { Command, HelpConfiguration } from 'commander'
import { KIND_WORDS } from '../../src/runs/collect/workload-kinds.ts'

/** The help of the argument `[workload...]`. */
export const WORKLOAD_HELP =
  `KIND/NAME or KIND NAME; KIND is ${KIND_WORDS.join(', ')}, or another kind with its API group, ` +
  'such as workflow.argoproj.io'

/** The help of the argument `[run...]`. */
export const RUN_HELP =
  'KIND/NAME or KIND NAME of the cluster, such as job/lammps; the output of collect, logs of ' +
  'observers, or their folders; run/NAME of an archive; or - for standard input'

/** The layout of the help, as in kubectl: options are sorted, and their long names are aligned. */
export const helpLayout: HelpConfiguration = {
  sortOptions: true,
  subcommandTerm: (verb) => verb.name(),
  optionTerm: ({ flags, short }) => (short === undefined ? `    ${flags}` : flags),
}

/** The end of a verb's help. */
export interface HelpEnd {
  /** The meaning of exit code 0; default: success. */
  readonly ok?: string
  /** The meaning of exit code 1; absent if the verb never exits with 1. */
  readonly no?: string
  /** A meaning of exit code 2 in addition to the usual one, that the command could not run. */
  readonly trouble?: string
  /** Examples, without the name of the program. */
  readonly examples: readonly string[]
}

/** Builds the end of a verb's help: exit codes, and examples with the name of the program. */
export function helpEnd({ ok, no, trouble, examples }: HelpEnd): (context: HelpContext) => string {
  const failed = 'the command could not run; see standard error'
  const codes = [
    `  0  ${ok ?? 'success'}`,
    ...(no === undefined ? [] : [`  1  ${no}`]),
    `  2  ${trouble === undefined ? failed : `${trouble}, or ${failed}`}`,
  ]
  return ({ command: { parent } }) => {
    const name = parent?.name() ?? ''
    const lines = examples.map((line) => `  $ ${name} ${line}`)
    return ['', 'Exit codes:', ...codes, '', 'Examples:', ...lines].join('\n')
  }
}

type HelpContext = { readonly command: Command }

/** Builds the end of the program's help: exit codes, examples, and the help of a verb. */
export function programHelpEnd(name: string): string {
  return [
    '',
    'Exit codes:',
    '  0  success',
    '  1  a negative result, for example a missing log or a pod without observers',
    '  2  the command could not run; see standard error',
    '',
    'Examples:',
    `  $ ${name} explain job/lammps -n hpc`,
    `  $ ${name} report job/lammps -n hpc`,
    `  $ ${name} collect job/lammps -n hpc --to lammps.jsonl`,
    '',
    `"${name} VERB --help" describes a verb and its options, with examples.`,
  ].join('\n')
}
