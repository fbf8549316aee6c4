import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../free-ports.ts'
import { environment } from '../../../tools/mpi/environment.ts'
import { until } from '../../../until.ts'

const SETUP = fileURLToPath(new URL('setup.py', import.meta.url))

/** A service with the API of Amazon S3 that verifies signatures. Its bucket `rows` is empty. */
export interface BucketService {
  readonly port: number
  readonly accessKey: string
  readonly secretKey: string
  /** The credentials of a role, for any token; undefined for another service than moto. */
  readonly identity: { readonly url: string; readonly role: string } | undefined
  stop(): Promise<void>
}

export const BUCKET = 'rows'

/** Returns the Python environment with moto; a sentence if it cannot be installed. */
export function installMoto(): { readonly folder: string } | { readonly reason: string } {
  try {
    return { folder: environment('moto', 'moto[server]==5.2.5') }
  } catch (error) {
    if (process.env.CI === 'true') throw error
    return { reason: `moto cannot be installed from PyPI: ${(error as Error).message}` }
  }
}

/** @param folder the Python environment */
export async function startMoto(folder: string): Promise<BucketService> {
  const port = await freePort()
  const python = `${folder}/bin/python3`
  const args = ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)]
  const child = spawn(python, args, { stdio: 'ignore' })
  const exited = once(child, 'exit')
  const stop = async () => {
    child.kill()
    await exited
  }
  try {
    await until('moto listens', () => isListening(port), { pauseMs: 100 })
    const url = `http://127.0.0.1:${port}`
    const keys = JSON.parse(execFileSync(python, [SETUP, url, BUCKET], { encoding: 'utf8' }))
    return {
      port,
      accessKey: keys.id,
      secretKey: keys.secret,
      identity: { url, role: keys.role },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/**
 * Lets moto answer the next request without a signature, as each request for credentials is: from
 * then on, it verifies signatures again.
 *
 * @see https://docs.getmoto.org/en/latest/docs/iam.html
 */
export async function allowUnsigned(url: string): Promise<void> {
  await fetch(`${url}/moto-api/reset-auth`, { method: 'POST', body: '1' })
}
