import type { App } from './server.ts'

/** The calls of a server, watched so that it can end without breaking one. */
export interface Traffic {
  /**
   * Asks every caller to open its next connection elsewhere, waits until no call has come for a
   * while, and resolves; after `limitMs` at the latest.
   */
  drain(options: DrainOptions): Promise<void>
}

export interface DrainOptions {
  readonly quietMs: number
  readonly limitMs: number
}

const LOOK_MS = 50

/**
 * Watches the calls of a server that does not listen yet.
 *
 * The apiserver sends calls on connections that it has kept, to pods that are already leaving their
 * Service, and repeats no POST that a closed connection swallowed. So a server that is to end keeps
 * answering, with `Connection: close`, until it hears no more.
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
