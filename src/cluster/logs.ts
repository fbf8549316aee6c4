import { finished } from 'node:stream/promises'
import { errorMessage } from '../lib/error-message.ts'
import { splitLines } from '../lib/split-lines.ts'
import type { Apiserver } from './apiserver.ts'

/** The container whose log is read. */
export interface LoggingContainer {
  readonly namespace: string
  readonly pod: string
  readonly container: string
}

export interface LogAsking {
  readonly follow: boolean
  /** Whether to read the log of the container before the last restart, which the kubelet keeps. */
  readonly previous?: boolean
  readonly signal: AbortSignal
}

/** The maximum time without data in a log that is not followed, in milliseconds. */
const SILENCE_MS = 60_000

/** Opens the log of a container at the kubelet, through the apiserver. */
function openLog(
  { open }: Apiserver,
  { namespace, pod, container }: LoggingContainer,
  query: Readonly<Record<string, string>>,
  waiting: { readonly signal: AbortSignal; readonly silenceMs: number },
) {
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log`
  return open({ path, query: { container, ...query }, ...waiting })
}

function brokenLog(error: unknown): Error {
  return new Error(`the connection broke while the log was read: ${errorMessage(error)}`)
}

/** Yields parts of a response, and closes the connection at their end. */
async function* partsOf(
  response: Awaited<ReturnType<typeof openLog>>,
  parts: AsyncIterable<string>,
): AsyncGenerator<string> {
  try {
    yield* parts
  } catch (error) {
    throw brokenLog(error)
  } finally {
    response.destroy()
  }
}

/**
 * Reads the lines of a container's log.
 *
 * @throws ApiError if there is no log; another error if the connection cannot be made or breaks
 */
export async function* readLogLines(
  api: Apiserver,
  place: LoggingContainer,
  { follow, previous = false, signal }: LogAsking,
): AsyncGenerator<string> {
  const waiting = { signal, silenceMs: follow ? 0 : SILENCE_MS }
  const query = { follow: String(follow), ...(previous ? { previous: 'true' } : {}) }
  const response = await openLog(api, place, query, waiting)
  yield* partsOf(response, splitLines(response))
}

/**
 * Reads the current content of a container's log. Each line begins with its time. The text arrives
 * in parts that may end within a line.
 *
 * @param since the time from which to read, in RFC 3339 with whole seconds; undefined for all
 * @throws ApiError if there is no log; another error if the connection cannot be made or breaks
 */
export async function* readStampedText(
  api: Apiserver,
  place: LoggingContainer,
  {
    since,
    previous,
    signal,
  }: Pick<StampedLogAsking, 'since' | 'signal'> & { readonly previous: boolean },
): AsyncGenerator<string> {
  const query = {
    timestamps: 'true',
    ...(previous ? { previous: 'true' } : {}),
    ...(since === undefined ? {} : { sinceTime: since }),
  }
  const response = await openLog(api, place, query, { signal, silenceMs: SILENCE_MS })
  yield* partsOf(response, response.setEncoding('utf8'))
}

/** A part of a log, with the time of each line as the kubelet writes it. */
export interface StampedLogAsking extends LogAsking {
  /** The time from which to read, in RFC 3339 with whole seconds; undefined to read the tail. */
  readonly since: string | undefined
  /** The number of lines of the tail to read if `since` is undefined; undefined for all lines. */
  readonly tailLines: number | undefined
  /**
   * Is called when the response has begun.
   *
   * @param date the time on the clock of the apiserver, in milliseconds since 1970; NaN if the
   * response does not have it
   */
  readonly onOpen: (date: number) => void
  readonly onText: (text: string) => void
}

/**
 * Reads a part of a container's log until its end, or until the connection breaks. Each line begins
 * with its time. The text arrives in parts that may end within a line.
 *
 * @throws ApiError if there is no log; another error if the connection cannot be made or breaks
 */
export async function readStampedLog(
  api: Apiserver,
  place: LoggingContainer,
  { follow, since, tailLines, signal, onOpen, onText }: StampedLogAsking,
): Promise<void> {
  const query = {
    follow: String(follow),
    timestamps: 'true',
    ...(since === undefined ? {} : { sinceTime: since }),
    ...(since !== undefined || tailLines === undefined ? {} : { tailLines: `${tailLines}` }),
  }
  const waiting = { signal, silenceMs: follow ? 0 : SILENCE_MS }
  const response = await openLog(api, place, query, waiting)
  onOpen(Date.parse(response.headers.date ?? ''))
  // The events cost less than an iteration for each of the parts of many logs.
  response.setEncoding('utf8').on('data', onText)
  try {
    await finished(response)
  } catch (error) {
    throw brokenLog(error)
  } finally {
    response.destroy()
  }
}
