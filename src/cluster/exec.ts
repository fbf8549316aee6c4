import type { RequestOptions } from 'node:https'
import { Writable } from 'node:stream'
import type { KubeConfig, V1Status } from '@kubernetes/client-node'
import { errorMessage } from '../lib/error-message.ts'
import { ApiError } from './api-error.ts'
import type { Apiserver } from './apiserver.ts'
import type { Access } from './cluster.ts'

/** The container in which a program runs. */
export interface ExecPlace {
  readonly namespace: string
  readonly pod: string
  readonly container: string
}

/** The end of a program. */
export interface ExecResult {
  readonly exitCode: number
  readonly stdout: string
  /** The beginning of standard error. */
  readonly stderr: string
}

/** The maximum bytes of the output of a program. */
const MAX_STDOUT = 32 << 20
const MAX_STDERR = 4096

/**
 * Runs a program in a container until it ends, like `kubectl exec` without a terminal.
 *
 * @param patienceMs the maximum time until the end, in milliseconds
 * @throws ApiError if the apiserver refuses the request; another error if the program cannot be
 * started, writes more than 32 MiB, or the connection breaks
 */
export async function execInContainer(
  access: Access,
  { namespace, pod, container }: ExecPlace,
  argv: readonly string[],
  patienceMs: number,
): Promise<ExecResult> {
  const { Exec } = await import('@kubernetes/client-node')
  let fail = (_: Error) => {}
  const stdout = collector(MAX_STDOUT, () => {
    fail(new Error(`the output has more than ${MAX_STDOUT >> 20} MiB`))
  })
  const stderr = collector(MAX_STDERR)
  const exec = new Exec(asKubeConfig(access))
  let close = () => {}
  const ended = new Promise<V1Status>((resolve, reject) => {
    fail = reject
    const late = () => reject(new Error(`no answer within ${patienceMs / 1000} seconds`))
    const timer = setTimeout(late, patienceMs)
    const opening = exec.exec(
      namespace,
      pod,
      container,
      [...argv],
      stdout,
      stderr,
      null,
      false,
      resolve,
    )
    close = () => {
      clearTimeout(timer)
      // Without waiting for the other end: the result is already known.
      opening.then((socket) => socket.terminate()).catch(() => {})
    }
    opening.then((socket) => {
      socket.onerror = ({ message }: { readonly message: string }) => reject(new Error(message))
      socket.onclose = () => reject(new Error('the connection broke'))
    }, reject)
  })
  try {
    const exitCode = readExitCode(await ended)
    return { exitCode, stdout: stdout.text(), stderr: stderr.text() }
  } catch (error) {
    throw describeRefusal(error)
  } finally {
    close()
  }
}

/** Adapts the access to a cluster to the client, which reads only these members. */
function asKubeConfig({ server, credentials }: Access): KubeConfig {
  const config = {
    getCurrentCluster: () => ({
      name: '',
      skipTLSVerify: false,
      server: server.replace(/\/$/, ''),
    }),
    applyToHTTPSOptions: async (options: RequestOptions) => {
      Object.assign(options, await credentials())
    },
  }
  return config as unknown as KubeConfig
}

/**
 * Returns a stream that stores the first bytes that a program writes.
 *
 * @param most the number of bytes to store
 * @param onMore called if the program writes more bytes
 */
function collector(most: number, onMore = () => {}): Writable & { readonly text: () => string } {
  const parts: Buffer[] = []
  let left = most
  const stream = new Writable({
    write: (part: Buffer, _encoding, done) => {
      // A part of a buffer would keep all of it in memory.
      const kept = part.length <= left ? part : Buffer.from(part.subarray(0, left))
      left -= kept.length
      if (kept.length > 0) parts.push(kept)
      if (kept.length < part.length) onMore()
      done()
    },
  })
  return Object.assign(stream, { text: () => Buffer.concat(parts).toString() })
}

/** Reads the exit code in the Status at the end (apimachinery, meta/v1 StatusDetails). */
function readExitCode({ status, message, details }: V1Status): number {
  if (status === 'Success') return 0
  const cause = details?.causes?.find(({ reason }) => reason === 'ExitCode')
  const code = Number(cause?.message)
  if (Number.isInteger(code)) return code
  throw new Error(message ?? 'the program could not be started')
}

/** The client reports a refused request only in an event of its WebSocket. */
function describeRefusal(error: unknown): Error {
  const text = errorMessage(
    error instanceof Error ? error : (error as { message?: unknown })?.message,
  )
  const code = /^Unexpected server response: (\d{3})$/.exec(text)?.[1]
  return code === undefined ? new Error(text) : new ApiError(Number(code), 'exec was refused')
}

/** The verbs that exec over a WebSocket needs: get, and since Kubernetes 1.35 also create. */
const VERBS = ['create', 'get'] as const

/**
 * Asks the apiserver which verbs on `pods/exec` the user lacks.
 *
 * @throws ApiError or a network error
 */
export async function findMissingExecVerbs(
  apiserver: Apiserver,
  namespace: string,
): Promise<readonly string[]> {
  const isAllowed = async (verb: string) => {
    const resourceAttributes = { namespace, verb, group: '', resource: 'pods', subresource: 'exec' }
    const review = await apiserver.ask({
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      create: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes },
      },
      signal: AbortSignal.timeout(10_000),
    })
    return (review.status as { allowed?: unknown } | undefined)?.allowed === true
  }
  const allowed = await Promise.all(VERBS.map(isAllowed))
  return VERBS.filter((_, at) => !allowed[at])
}
