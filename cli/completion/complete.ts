import type { Argument, Command, Option } from 'commander'
import { DEFAULT_WORD } from '../../src/core/text/metric-list.ts'
import { STORED_RUN } from '../../src/runs/collect/workload.ts'
import { KIND_WORDS } from '../../src/runs/collect/workload-kinds.ts'

/** A word that can be inserted at the cursor. */
export interface Candidate {
  readonly value: string
  readonly description: string
}

/**
 * The candidates for the word at the cursor, and the kind of names that the shell completes if
 * there are no candidates. `rest` means that the candidates are only the beginnings of words, so
 * that the shell adds no space.
 */
export interface Completion {
  readonly candidates: readonly Candidate[]
  readonly otherwise: 'nothing' | 'rest' | 'files' | 'folders'
}

/**
 * Completes the last word of a command line from the declarations of the verbs. The placeholder of
 * an option or an argument determines its completion: files for `<file>` and `<path>`, folders for
 * `<dir>`, metrics for `<metric>`, also `true` for `<metric,...>`, kinds for `[workload]` and
 * `[object]`, kinds or files for `[run]`, and verbs for `[command]`.
 *
 * @bomb.sh/tab (0.0.22), which Commander's maintainer mentions, is not used: it does not complete
 * names of files, and its script for bash evaluates the typed line.
 *
 * @param words the words after the name of the program; the last is the word at the cursor, which
 * may be empty
 * @param metricNames reads the names of the metrics; called only if the names are needed
 */
export async function complete(
  program: Command,
  words: readonly string[],
  metricNames: () => Promise<readonly string[]>,
): Promise<Completion> {
  const current = words.at(-1) ?? ''
  const before = words
    .slice(0, -1)
    .reduce<WordsBefore>((read, word) => readWord(program, read, word), {
      command: program,
      pending: undefined,
      position: 0,
      isPastOptions: false,
    })
  const { command, isPastOptions } = before
  const values = { program, metricNames }
  if (command === undefined) return NOTHING
  if (current.startsWith('-') && !isPastOptions) return completeOption(values, command, current)
  if (command === program) return chosen(verbs(program), current)
  const declared = before.pending ?? argumentAt(command, before.position)
  return completeValue(values, declared, current)
}

/** The sources of the values that are not declared with an option or an argument. */
interface Values {
  readonly program: Command
  readonly metricNames: () => Promise<readonly string[]>
}

const NOTHING: Completion = { candidates: [], otherwise: 'nothing' }

interface WordsBefore {
  /** The verb, or the program if no verb was written; undefined if the verb does not exist. */
  readonly command: Command | undefined
  /** The option whose value comes next. */
  readonly pending: Option | undefined
  /** The number of arguments of the verb that were written. */
  readonly position: number
  readonly isPastOptions: boolean
}

/** Reads one of the words before the cursor, in the same way as Commander. */
function readWord(program: Command, before: WordsBefore, word: string): WordsBefore {
  if (before.isPastOptions || !/^-./.test(word)) return readValue(program, before, word)
  if (word === '--') return { ...before, pending: undefined, isPastOptions: true }
  const option = before.command && findOption(before.command, word)
  return { ...before, pending: option?.required ? option : undefined }
}

/** Reads the value of an option, the verb, or an argument of the verb. */
function readValue(program: Command, before: WordsBefore, word: string): WordsBefore {
  const { command, pending, position } = before
  if (pending !== undefined) return pending.variadic ? before : { ...before, pending: undefined }
  if (command !== program) return { ...before, position: position + 1 }
  return { ...before, command: visibleCommands(program).find((verb) => verb.name() === word) }
}

/** Returns the argument at a position. A variadic last argument also has all later positions. */
function argumentAt({ registeredArguments }: Command, position: number): Argument | undefined {
  const last = registeredArguments.at(-1)
  return registeredArguments[position] ?? (last?.variadic ? last : undefined)
}

function visibleCommands(program: Command): readonly Command[] {
  return program.createHelp().visibleCommands(program)
}

function visibleOptions(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command)
}

function findOption(command: Command, flag: string): Option | undefined {
  return visibleOptions(command).find(({ short, long }) => flag === short || flag === long)
}

function verbs(program: Command): readonly Candidate[] {
  return visibleCommands(program).map((verb) => {
    return { value: verb.name(), description: verb.description() }
  })
}

/** Completes the name of an option (`--opt`), or its value (`--option=val`). */
async function completeOption(
  values: Values,
  command: Command,
  current: string,
): Promise<Completion> {
  const [, flag, value = ''] = /^([^=]*)=(.*)$/.exec(current) ?? []
  if (flag !== undefined) return completeValue(values, findOption(command, flag), value)
  const flags = visibleOptions(command).flatMap(({ short, long, description }) => {
    return [short, long].flatMap((value) => (value === undefined ? [] : [{ value, description }]))
  })
  return chosen(flags, current)
}

async function completeValue(
  { program, metricNames }: Values,
  declared: Option | Argument | undefined,
  current: string,
): Promise<Completion> {
  if (declared === undefined) return NOTHING
  if (declared.argChoices !== undefined) return chosen(plain(declared.argChoices), current)
  switch (placeholder(declared)) {
    case 'file':
    case 'path':
      return { candidates: [], otherwise: 'files' }
    case 'dir':
      return { candidates: [], otherwise: 'folders' }
    case 'command':
      return chosen(verbs(program), current)
    case 'metric':
      return chosen(plain(await metricNames()), current)
    case 'run':
      return completeRun(current)
    case 'workload':
    case 'object':
      return { ...chosen(plain(KIND_WORDS.map((word) => `${word}/`)), current), otherwise: 'rest' }
    case 'metric,':
      return chosen(plain(afterComma([DEFAULT_WORD, ...(await metricNames())], current)), current)
    default:
      return NOTHING
  }
}

/** Completes the beginning of KIND/NAME or run/NAME, otherwise the name of a file. */
function completeRun(current: string): Completion {
  const words = [...KIND_WORDS, STORED_RUN].map((word) => `${word}/`)
  const { candidates } = chosen(plain(current === '' ? [] : words), current)
  return { candidates, otherwise: candidates.length === 0 ? 'files' : 'rest' }
}

/** Returns the placeholder of a value without brackets and dots: `metric,` for `<metric,...>`. */
function placeholder(declared: Option | Argument): string {
  if (!('flags' in declared)) return declared.name()
  return /[<[](.*?)(\.\.\.)?[>\]]/.exec(declared.flags)?.[1] ?? ''
}

/** Completes the last item of a comma-separated list with each item that is not in the list. */
function afterComma(items: readonly string[], list: string): readonly string[] {
  const before = list.split(',').slice(0, -1)
  return items.filter((item) => !before.includes(item)).map((item) => [...before, item].join(','))
}

function plain(values: readonly string[]): readonly Candidate[] {
  return values.map((value) => ({ value, description: '' }))
}

function chosen(candidates: readonly Candidate[], current: string): Completion {
  return {
    candidates: candidates.filter(({ value }) => value.startsWith(current)),
    otherwise: 'nothing',
  }
}

/**
 * Directives of cobra, the library of kubectl's own commands (spf13/cobra completions.go). kubectl
 * reads this format from a plugin (kubectl pkg/cmd/plugin/plugin_completion.go).
 */
const DIRECTIVES = { files: 0, nothing: 4, rest: 6, folders: 16 } as const

/**
 * Formats a completion for kubectl and the scripts in this folder. Each candidate is a line, with
 * its description after a tab. The last line is a colon and the directive. The value of an option
 * is written without `--option=`.
 */
export function formatCompletion({ candidates, otherwise }: Completion): string {
  const lines = candidates.map(({ value, description }) =>
    description === '' ? value : `${value}\t${description}`,
  )
  return [...lines, `:${DIRECTIVES[otherwise]}`, ''].join('\n')
}
