import { asObjects, asText, type Fields, fieldsOrNone, listOrNone } from '../kubernetes/json.ts'

/** The fields of a container with commands, and the path of the handler in each. */
const HANDLERS: readonly (readonly string[])[] = [
  ['livenessProbe'],
  ['readinessProbe'],
  ['startupProbe'],
  ['lifecycle', 'postStart'],
  ['lifecycle', 'preStop'],
]

/** The effect of an observer on process 1. */
export const PAUSE = 'with an observer, process 1 is the pause process of the pod'

/**
 * Returns a clause for each probe, hook, command and program of a pod that needs its container to
 * have a process 1 of its own. A pod whose containers share their processes without an observer has
 * none.
 */
export function listProcessOneUses(podSpec: Fields): readonly string[] {
  const { containers, initContainers, shareProcessNamespace } = podSpec
  if (shareProcessNamespace === true) return []
  return [...asObjects(containers), ...asObjects(initContainers)].flatMap((container) => {
    const name = `container ${asText(container.name) ?? ''}`
    const commands = HANDLERS.map((path): readonly [string, unknown] => {
      const handler = path.reduce((fields, key) => fieldsOrNone(fields[key]), container)
      return [String(path.at(-1)), fieldsOrNone(handler.exec).command]
    })
    const own = (['command', 'args'] as const).map((key) => [key, container[key]] as const)
    const users = [...commands, ...own].filter(([, words]) => usesProcessOne(wordsOf(words)))
    const program = findInit(container)
    return [
      ...users.map(
        ([what]) => `the ${what} of ${name} ${what === 'args' ? 'use' : 'uses'} process 1`,
      ),
      ...(program === undefined ? [] : [`${program} of ${name} must be process 1`]),
    ]
  })
}

function wordsOf(command: unknown): readonly string[] {
  return listOrNone(command).flatMap((word) => asText(word) ?? [])
}

/** The number of characters of a command that are read. A user chooses the length. */
const MAX_LENGTH = 65_536

/** Matches the paths and the options that name process 1, and the test of a shell for it. */
const NAMES = new RegExp(
  [
    String.raw`\/proc\/1(?!\d)`,
    String.raw`--pid[= ]1(?![\w.])`,
    String.raw`\bnsenter\b[^;&|\n]{0,20}?(?:-t|--target)[= ]?1(?![\w.])`,
    String.raw`\$\$["']?\s*(?:-eq|-ne|==?|!=)\s*["']?1\b`,
  ].join('|'),
)

/** Matches the command kill with its operands, up to a quote that ends it or a redirection. */
const KILL =
  /(?:^|[\s;&|(`'"/])kill((?:[^\S\n]+(?:"[^"\s]*"|'[^'\s]*'|[^\s;&|<>'"`()]+(?=[\s;&|'"`)]|$)))+)/g

/** Matches process 1 among the operands of kill, but not the signal 1. */
const ONE = /(?<!-s|-n|--signal|\s)\s+["']?1["']?(?!\S)/

/**
 * Reports whether a command sends process 1 a signal, or names it otherwise. The time is linear in
 * the length of the command.
 */
function usesProcessOne(words: readonly string[]): boolean {
  if (words.length === 0) return false
  const text = words.join(' ').slice(0, MAX_LENGTH)
  if (NAMES.test(text)) return true
  return [...text.matchAll(KILL)].some(([, operands = '']) => ONE.test(operands))
}

/**
 * Programs that end unless they are process 1: the init of s6-overlay and of s6-linux-init,
 * systemd, runit, OpenRC and System V init. Others, such as tini and dumb-init, only warn.
 */
const INITS: ReadonlySet<string> = new Set([
  '/init',
  '/sbin/init',
  '/usr/sbin/init',
  '/lib/systemd/systemd',
  '/usr/lib/systemd/systemd',
  '/sbin/runit',
  '/sbin/runit-init',
  '/sbin/openrc-init',
  's6-linux-init',
])

const SHELL = /(?:^|\/)(?:ba|da|a|z|k)?sh$/

/** Matches a program that a script starts, with or without exec. */
const STARTED = /(?:^|[;&|\n])[^\S\n]*(?:exec[^\S\n]+)?([^\s;&|]+)/g

/** Returns the program of a container that must be process 1, also if a shell executes it. */
function findInit({ command, args }: Fields): string | undefined {
  const words = [...wordsOf(command), ...wordsOf(args)]
  const [program = ''] = words
  if (INITS.has(program)) return program
  if (!SHELL.test(program)) return undefined
  const option = words.findIndex((word) => /^-\w*c$/.test(word))
  const script = (option < 0 ? '' : (words[option + 1] ?? '')).slice(0, MAX_LENGTH)
  const started = [...script.matchAll(STARTED)].find(([, name = '']) => INITS.has(name))
  return started?.[1]
}
