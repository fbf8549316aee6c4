import { type EndedContainer, isReplacedEnd, RESTARTING_ALL } from '../log/entry.ts'

/** The names of signals on Linux (kernel, arch/x86/include/uapi/asm/signal.h), by number. */
const NAMES: Readonly<Record<number, string>> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  5: 'SIGTRAP',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  10: 'SIGUSR1',
  11: 'SIGSEGV',
  12: 'SIGUSR2',
  13: 'SIGPIPE',
  14: 'SIGALRM',
  15: 'SIGTERM',
  24: 'SIGXCPU',
  25: 'SIGXFSZ',
  31: 'SIGSYS',
}

export const SIGKILL = 9
export const SIGTERM = 15

/** The greatest number of a signal. */
const LAST = 64

export function signalName(signal: number): string {
  return NAMES[signal] ?? `signal ${signal}`
}

/**
 * Returns the signal that ended a container, or null. Container runtimes and shells add 128 to the
 * signal to make the exit code; most of them do not set the signal in the status. A program may
 * also choose such an exit code, so only known signals count.
 */
export function signalIn({
  exitCode,
  signal,
}: Pick<EndedContainer, 'exitCode' | 'signal'>): number | null {
  if (signal !== null && signal > 0 && signal <= LAST) return signal
  const number = (exitCode ?? 0) - 128
  return NAMES[number] === undefined ? null : number
}

/** Returns the exit code, with the signal and the reason if there are any. */
export function describeEnd(
  ended: Pick<EndedContainer, 'reason' | 'exitCode' | 'signal'> | undefined,
): string {
  if (ended === undefined) return 'an unknown exit code'
  if (isReplacedEnd(ended)) return `an exit code that the kubelet has replaced (${RESTARTING_ALL})`
  const signal = signalIn(ended)
  const isPlain = ended.reason === null || ended.reason === 'Error'
  const words = [
    ...(signal === null ? [] : [signalName(signal)]),
    ...(isPlain ? [] : [ended.reason]),
  ]
  return `exit code ${ended.exitCode}${words.length === 0 ? '' : ` (${words.join(', ')})`}`
}
