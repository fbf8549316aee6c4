import type { IncomingMessage } from 'node:http'
import { type Apiserver, parse } from '../../../src/cluster/apiserver.ts'
import { refusalIn } from '../../../src/cluster/refusal.ts'
import { asText, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import { errorMessage } from '../../../src/lib/error-message.ts'
import { selecting } from './list.ts'

/** What a watch says: an object as it is now, or was at its end; a bookmark has no news. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  readonly object: unknown
  /** All that happened until then has been said. */
  readonly resourceVersion: string
}

export interface WatchOptions {
  readonly api: Apiserver
  readonly path: string
  /** Of the objects' labels; all of them without one. */
  readonly selector?: string | undefined
  /** What is already known. */
  readonly resourceVersion: string
  /** When the apiserver is to end it. */
  readonly seconds: number
  readonly silenceMs: number
  readonly signal: AbortSignal
}

/** The connection broke, or ended before its time. What it brought until then holds. */
export class Broken extends Error {}

const TYPES = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'] as const

/**
 * Watches a resource until the apiserver ends it.
 *
 * A connection can be open and dead. The apiserver sends a bookmark every minute (apiserver
 * pkg/storage/cacher), so silence means that nothing would come any more.
 *
 * @throws Refusal (410 where what is known is too old), Broken, or an error for silence and for lines
 * that are no events
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
    if (silence.signal.aborted) throw new Error(`a watch said nothing for ${silenceMs / 1000} s`)
    throw error
  } finally {
    clearTimeout(timer)
    silence.abort()
  }
}

/** The whole lines of a stream. The last, without its end, was cut off and is said again later. */
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
  if (word === 'ERROR') throw refusalIn(object)
  const type = TYPES.find((known) => known === word)
  const resourceVersion = asText(fieldsOrNone(fieldsOrNone(object).metadata).resourceVersion)
  if (type === undefined || !resourceVersion) throw new Error('a watch sent what is no event')
  return { type, object, resourceVersion }
}
