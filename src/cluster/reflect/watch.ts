import type { IncomingMessage } from 'node:http'
import { asText, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { apiErrorFrom } from '../api-error.ts'
import { type Apiserver, parse } from '../apiserver.ts'
import { selecting } from './list.ts'

/**
 * An event of a watch. The object is the current state, or the last state before deletion. The
 * object of a bookmark has only a resourceVersion.
 */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  readonly object: unknown
  /** The watch has delivered all events up to this version. */
  readonly resourceVersion: string
}

export interface WatchOptions {
  readonly api: Apiserver
  readonly path: string
  /** A label selector; all objects if undefined. */
  readonly selector?: string | undefined
  /** The version from which to start. */
  readonly resourceVersion: string
  /** The time after which the apiserver ends the watch, in seconds. */
  readonly seconds: number
  readonly silenceMs: number
  readonly signal: AbortSignal
}

/**
 * Thrown if the connection broke or ended too early. The events that were received before are
 * valid.
 */
export class Broken extends Error {}

const TYPES = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'] as const

/**
 * Watches a resource until the apiserver ends the watch.
 *
 * A dead connection can stay open without data. The apiserver sends a bookmark every minute
 * (apiserver pkg/storage/cacher), so a watch that receives nothing for `silenceMs` has stalled.
 *
 * @throws ApiError (410 if the resourceVersion is too old), Broken, or an error for a stalled watch
 * or a line that is not an event
 */
export async function* watch(options: WatchOptions): AsyncGenerator<WatchEvent> {
  const { api, path, selector, resourceVersion, seconds, silenceMs } = options
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(), silenceMs).unref()
  const signal = AbortSignal.any([options.signal, silence.signal])
  const query = { watch: 'true', allowWatchBookmarks: 'true', resourceVersion }
  const timed = { ...query, ...selecting(selector), timeoutSeconds: String(Math.ceil(seconds)) }
  try {
    const response = await api.open({ path, query: timed, signal })
    for await (const line of readLines(response, () => timer.refresh())) yield readEvent(line)
  } catch (error) {
    if (silence.signal.aborted)
      throw new Error(`a watch received nothing for ${silenceMs / 1000} s`)
    throw error
  } finally {
    clearTimeout(timer)
    silence.abort()
  }
}

/**
 * Yields the complete lines of a stream. An incomplete last line is dropped; a later watch sends
 * the event again.
 */
async function* readLines(response: IncomingMessage, onData: () => void): AsyncGenerator<string> {
  let rest = ''
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      onData()
      const lines = `${rest}${chunk}`.split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } catch (error) {
    throw new Broken(errorMessage(error))
  }
}

function readEvent(line: string): WatchEvent {
  const { type: word, object } = parse(line)
  if (word === 'ERROR') throw apiErrorFrom(object)
  const type = TYPES.find((known) => known === word)
  const resourceVersion = asText(fieldsOrNone(fieldsOrNone(object).metadata).resourceVersion)
  if (type === undefined || !resourceVersion)
    throw new Error('a watch received a line that is not an event')
  return { type, object, resourceVersion }
}
