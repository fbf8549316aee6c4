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
 * have a process 1 of its own.
 */
export function listProcessOneUses(podSpec: Fields): readonly string[] {
  const { containers, initContainers } = podSpec
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

/** Matches the paths and the options that name process 1, and the test of a shell for it. */
const NAMES =
  /\/proc\/1(?!\d)|--(?:pid|target)[= ]1(?!\d)|\$\$["']?\s*(?:-eq|-ne|==?|!=)\s*["']?1\b/

/** Matches process 1 as a word, among the processes that get a signal. */
const ONE = /\s["']?1["']?(?![\w.])/

/**
 * Reports whether a command sends process 1 a signal, or names it otherwise. The time is linear in
 * the length of the command, which a user chooses.
 */
function usesProcessOne(words: readonly string[]): boolean {
  const text = words.join(' ')
  return NAMES.test(text) || text.split(/[;&|\n]/).some(signalsProcessOne)
}

function signalsProcessOne(command: string): boolean {
  const start = command.search(/\bkill\b/)
  return start >= 0 && ONE.test(command.slice(start))
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

/** Returns the program of a container that must be process 1, also if a shell executes it. */
function findInit({ command, args }: Fields): string | undefined {
  const words = [...wordsOf(command), ...wordsOf(args)]
  const script = words[words.findIndex((word) => /^-\w*c$/.test(word)) + 1] ?? ''
  const started = script.split(/[;&|\n]/).map((part) => {
    return (
      part
        .trim()
        .replace(/^exec\s+/, '')
        .split(/\s/)[0] ?? ''
    )
  })
  return [words[0] ?? '', ...started].find((program) => INITS.has(program))
}
