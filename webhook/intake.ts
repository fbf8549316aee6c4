import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { errorCodes, type FastifyInstance, type RawServerBase } from 'fastify'
import { LONGEST_BODY } from '../src/core/review.ts'
import { Overloaded } from './problem.ts'

/** Bounds on the bodies of requests that are being received or answered. Bytes. */
export interface IntakeLimits {
  /** The longest body. */
  readonly body: number
  /** The most that all bodies have together. */
  readonly all: number
  /** The same, for bodies longer than `small`: the rest is kept for small ones. */
  readonly allWithLarge: number
  /** The longest small body. */
  readonly small: number
}

/**
 * The limits of a server with 512 MiB, the limit in the chart.
 *
 * An ordinary review has 5 to 50 kB: 500 of them at once fit. A parsed body takes up to twenty times its
 * length (`{}` is an object), which is why only one of the longest bodies fits.
 */
export const INTAKE: IntakeLimits = {
  body: LONGEST_BODY,
  all: 32 * 1024 * 1024,
  allWithLarge: 8 * 1024 * 1024,
  small: 64 * 1024,
}

/** A piece of a body counts for this many bytes at least: an empty Buffer of Node takes about as many. */
const SMALLEST_PIECE = 512

/** Called once: with the whole text, or with the error to answer. */
type Done = (error: Error | null, text?: string) => void

/** Reads the body of a request that came through the server's hooks, as UTF-8. */
export type ReceiveBody = (request: IncomingMessage, payload: Readable, done: Done) => void

/** The bytes that one request counts for, until it has its answer. */
interface Claim {
  /** Counts a piece of the body, if it fits. */
  take(piece: Buffer): boolean
  release(): void
}

/**
 * Bounds the memory that bodies take, over all connections of a server that does not listen yet.
 *
 * A body that does not fit is answered with 503 and `Retry-After: 1`: the apiserver calls again, and
 * under failurePolicy Ignore admits the pod unchanged in the end. A declared length that does not fit is
 * refused before the body is read, any other body as soon as its bytes do not fit. To declare a length
 * reserves nothing: a client has to send the bytes that it wants to occupy.
 *
 * @returns the reader of bodies; its errors are Overloaded, and Fastify's for a body over the limit
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
    let own = 0
    return {
      take(piece) {
        const bytes = Math.max(piece.length, SMALLEST_PIECE)
        if (!fits(bytes, own + bytes)) return false
        own += bytes
        used += bytes
        return true
      },
      release() {
        used -= own
        own = 0
      },
    }
  }
  return { fits, open }
}

/** Collects a body; where a piece does not fit, the body is given up. */
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
 * Leaves the rest of a body with the network, where it costs nothing. The client reads its answer and
 * ends the connection, or is cut off as too slow. To close it at once could reset it before the answer
 * is read, and Node itself would read the rest to its end.
 */
function stopReading(payload: Readable): void {
  // Node reads only what has no reader yet.
  payload.read(0)
  payload.pause()
}

/** One piece, the common case, needs no copy. */
function textOf(pieces: readonly Buffer[], length: number): string {
  const [first] = pieces
  const whole = pieces.length === 1 && first ? first : Buffer.concat(pieces, length)
  return whole.toString('utf8')
}
