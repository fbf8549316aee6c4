import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { errorCodes, type FastifyInstance, type RawServerBase } from 'fastify'
import { MAX_BODY_BYTES } from '../src/core/review.ts'
import { Overloaded } from './problem.ts'

/** Limits on the bodies of requests that are being received or answered, in bytes. */
export interface IntakeLimits {
  /** The maximum length of a body. */
  readonly body: number
  /** The maximum number of bytes of all bodies together. */
  readonly all: number
  /**
   * The maximum number of bytes of all bodies together after a body longer than `small` is added.
   * The rest is reserved for small bodies.
   */
  readonly allWithLarge: number
  /** The maximum length of a small body. */
  readonly small: number
}

/**
 * The limits of a server with 512 MiB of memory, the limit in the chart.
 *
 * A typical review has 5 to 50 kB, so 500 reviews fit at once. A parsed body takes up to twenty
 * times its length, because each `{}` becomes an object. Therefore only one body of the maximum
 * length fits.
 */
export const INTAKE: IntakeLimits = {
  body: MAX_BODY_BYTES,
  all: 32 * 1024 * 1024,
  allWithLarge: 8 * 1024 * 1024,
  small: 64 * 1024,
}

/**
 * The minimum number of bytes that a chunk of a body counts for. An empty Buffer of Node takes
 * about as much memory.
 */
const SMALLEST_PIECE = 512

/** Called once, with the whole text or with the error to return. */
type Done = (error: Error | null, text?: string) => void

/**
 * Reads the body of a request, as UTF-8. The request must have passed the hook that `limitIntake`
 * adds to the server.
 */
export type ReceiveBody = (request: IncomingMessage, payload: Readable, done: Done) => void

/** The bytes that are counted for one request, until its response is sent. */
interface Claim {
  /** Counts a chunk of the body if it fits, and reports whether it was counted. */
  take(piece: Buffer): boolean
  release(): void
}

/**
 * Limits the memory for the bodies of all connections of a server. Call this function before the
 * server listens.
 *
 * A request whose body does not fit receives 503 and `Retry-After: 1`. The apiserver then calls
 * again. If all its calls fail, failurePolicy Ignore admits the pod unchanged.
 *
 * If the declared length does not fit, the request is rejected before its body is read. Any other
 * body is rejected as soon as its bytes do not fit. A declared length does not reserve memory: a
 * client must send the bytes to occupy memory.
 *
 * @returns the function that reads bodies; its errors are Overloaded, Fastify's error for a body
 * over the limit, and the errors of the connection
 */
export function limitIntake<S extends RawServerBase>(
  app: Pick<FastifyInstance<S>, 'addHook'>,
  limits: IntakeLimits,
): ReceiveBody {
  const claims = new WeakMap<object, Claim>()
  const { fits, open } = createBudget(limits)
  app.addHook('preParsing', (request, reply, _payload, done) => {
    const declared = Number(request.raw.headers['content-length'] ?? 0)
    if (declared > limits.body) return done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE())
    if (!fits(declared, declared)) {
      stopReading(request.raw)
      return done(new Overloaded())
    }
    const claim = open()
    claims.set(request.raw, claim)
    reply.raw.once('close', claim.release)
    done()
  })
  return (request, payload, done) => {
    const claim = claims.get(request)
    if (claim === undefined) throw new Error('the hook that counts bodies did not see this request')
    receive(payload, claim, limits.body, done)
  }
}

function createBudget({ all, allWithLarge, small }: IntakeLimits) {
  let used = 0
  const fits = (more: number, total: number) => used + more <= (total > small ? allWithLarge : all)
  const open = (): Claim => {
    let taken = 0
    return {
      take(piece) {
        const bytes = Math.max(piece.length, SMALLEST_PIECE)
        if (!fits(bytes, taken + bytes)) return false
        taken += bytes
        used += bytes
        return true
      },
      release() {
        used -= taken
        taken = 0
      },
    }
  }
  return { fits, open }
}

/** Collects the chunks of a body. If a chunk does not fit, the rest of the body is not read. */
function receive(payload: Readable, claim: Claim, limit: number, done: Done): void {
  const pieces: Buffer[] = []
  let length = 0
  const end = (error: Error | null, text?: string) => {
    payload.off('data', onData).off('end', onEnd).off('error', onError)
    done(error, text)
  }
  const onData = (piece: Buffer) => {
    length += piece.length
    if (length > limit) return end(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE())
    if (claim.take(piece)) {
      pieces.push(piece)
      return
    }
    claim.release()
    stopReading(payload)
    end(new Overloaded())
  }
  const onEnd = () => end(null, textOf(pieces, length))
  const onError = (error: Error) => end(Object.assign(error, { statusCode: 400 }))
  payload.on('data', onData).on('end', onEnd).on('error', onError)
}

/**
 * Stops reading a body, so that the rest of the body takes no memory. The client reads its response
 * and closes the connection, or is disconnected as too slow.
 *
 * If the server closed the connection at once, the connection could be reset before the client
 * reads the response. Without this function, Node would read the rest of the body.
 */
function stopReading(payload: Readable): void {
  // After the response, Node reads the rest of a body only if nothing was read from the body. This
  // call counts as reading.
  payload.read(0)
  payload.pause()
}

/** Decodes the chunks as UTF-8. A single chunk, which is the usual case, is not copied. */
function textOf(pieces: readonly Buffer[], length: number): string {
  const [first] = pieces
  const whole = pieces.length === 1 && first ? first : Buffer.concat(pieces, length)
  return whole.toString('utf8')
}
