import type { App } from './server.ts'

/** The calls of a server, watched so that the server can close without interrupting a call. */
export interface Traffic {
  /**
   * Asks every client to open its next connection elsewhere, and waits until no call has come for
   * `quietMs` milliseconds, but at most `limitMs`.
   */
  drain(options: DrainOptions): Promise<void>
}

export interface DrainOptions {
  readonly quietMs: number
  readonly limitMs: number
}

const LOOK_MS = 50

/**
 * Watches the calls of a server. Must be called before the server listens.
 *
 * The apiserver sends calls on connections that it has kept, even to pods that are being removed
 * from their Service, and does not repeat a POST that was lost when a connection closed. So a
 * closing server keeps answering, with `Connection: close`, until no more calls come.
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
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
      }
    },
  }
}
