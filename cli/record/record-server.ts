import Fastify from 'fastify'
import { type Fields, fieldsOrNone } from '../../src/core/kubernetes/json.ts'
import { allow } from '../../src/core/response.ts'
import { MAX_BODY_BYTES, type Review, readReview } from '../../src/core/review.ts'
import { PATHS } from '../../src/pods/recording/configuration.ts'
import { usageError } from '../shared/errors.ts'

export interface ServerOptions {
  readonly tls: { readonly cert: string; readonly key: string }
  readonly host: string
  readonly port: number
  /**
   * The prefix of every path. The prefix is secret, so that only the apiserver can send reviews.
   */
  readonly root: string
  /** Called for each review of a pod. The server answers after the promise has resolved. */
  onPod(review: Review, body: Fields): Promise<void>
}

export interface RecordServer {
  /**
   * Reports whether the apiserver has called the path of the probe. The probe is the dry run with
   * which record-cluster.ts tests the connection.
   */
  wasProbed(): boolean
  close(): Promise<void>
}

/**
 * Listens for AdmissionReviews. Every reviewed object is allowed unchanged.
 *
 * @throws UsageError with the port that cannot be opened
 */
export async function listen(options: ServerOptions): Promise<RecordServer> {
  const { tls, host, port, root } = options
  const app = Fastify({ https: tls, bodyLimit: MAX_BODY_BYTES, forceCloseConnections: true })
  // The default parser rejects some keys, such as `__proto__`, but a recording must contain all
  // keys.
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, JSON.parse(`${body}`))
    } catch (error) {
      done(Object.assign(error as Error, { statusCode: 400 }))
    }
  })
  app.post(`${root}${PATHS.pods}`, async ({ body }, reply) => {
    const review = readReview(body)
    if ('problem' in review) return reply.code(400).send(review)
    await options.onPod(review, fieldsOrNone(body))
    return allow(review)
  })
  let isProbed = false
  app.post(`${root}${PATHS.probe}`, async ({ body }, reply) => {
    const review = readReview(body)
    if ('problem' in review) return reply.code(400).send(review)
    isProbed = true
    return allow(review)
  })
  await app.listen({ host, port }).catch(usageError)
  return { wasProbed: () => isProbed, close: () => app.close() }
}
