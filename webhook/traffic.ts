import { pause } from '../src/lib/pause.ts'
import type { App } from './server.ts'

/** Tracks the calls of a server, so that the server can close without interrupting a call. */
export interface Traffic {
  /**
   * Closes each connection with its next response, and waits until all calls have ended and no call
   * has arrived for `quietMs` milliseconds, but at most `limitMs` milliseconds.
   */
  drain(options: DrainOptions): Promise<void>
}

export interface DrainOptions {
  readonly quietMs: number
  readonly limitMs: number
}

const LOOK_MS = 50

/**
 * Tracks the calls of a server. Call this function before the server listens.
 *
 * The apiserver reuses its open connections, even to pods that are being removed from their
 * Service. The apiserver does not repeat a POST that is lost when a connection closes. A closing
 * server therefore keeps answering, with `Connection: close`, until no more calls arrive.
 */
export function watchTraffic(app: App): Traffic {
  let lastCall = 0
  let open = 0
  let draining = false
  app.addHook('onRequest', (_request, reply, done) => {
    lastCall = performance.now()
    open += 1
    if (draining) reply.header('connection', 'close')
    done()
  })
  app.addHook('onResponse', (_request, _reply, done) => {
    open -= 1
    done()
  })
  app.addHook('onRequestAbort', (_request, done) => {
    open -= 1
    done()
  })
  return {
    async drain({ quietMs, limitMs }) {
      draining = true
      const start = performance.now()
      const isQuiet = () => open === 0 && performance.now() - Math.max(lastCall, start) >= quietMs
      while (!isQuiet() && performance.now() - start < limitMs) {
        await pause(LOOK_MS)
      }
    },
  }
}
