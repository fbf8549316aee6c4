import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../free-ports.ts'

/** The faults of a proxy. Each third request has none, so that an attempt can succeed. */
export type Fault =
  /** The answers 503 and 500. */
  | 'busy'
  /** The service handles the request, but the connection ends before the whole answer is sent. */
  | 'cut'
  /** The connection ends after the first bytes of a body, which the service does not get. */
  | 'broken-body'
  /** A few bytes at a time in both directions. */
  | 'slow'
  | 'none'

export interface BucketProxy {
  readonly url: string
  fault: Fault
  /** The methods and paths of the requests that the service has answered. */
  readonly answered: string[]
  /** Is called when the service has answered a request, whose answer then waits. */
  onAnswer: () => void
  /** Closes all connections and refuses new ones. */
  vanish(): Promise<void>
  comeBack(): Promise<void>
  close(): Promise<void>
}

/** Starts a proxy of the service at a port of this machine. Requests are unchanged. */
export async function startProxy(service: number): Promise<BucketProxy> {
  const port = await freePort()
  let requests = 0
  const server = createServer((incoming, response) => {
    requests += 1
    const fault = requests % 3 === 0 && proxy.fault !== 'slow' ? 'none' : proxy.fault
    relay(service, proxy, { incoming, response, fault, isOdd: requests % 2 === 1 }).catch(() => {
      response.destroy()
    })
  })
  const comeBack = async () => {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  }
  const vanish = async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  const proxy: BucketProxy = {
    ...{ url: `http://127.0.0.1:${port}`, fault: 'none', answered: [], onAnswer: () => {} },
    ...{ vanish, comeBack, close: vanish },
  }
  await comeBack()
  return proxy
}

interface Relayed {
  readonly incoming: IncomingMessage
  readonly response: ServerResponse
  readonly fault: Fault
  readonly isOdd: boolean
}

async function relay(service: number, proxy: BucketProxy, relayed: Relayed): Promise<void> {
  const { incoming, response, fault, isOdd } = relayed
  if (fault === 'broken-body') {
    await Promise.race([once(incoming, 'data'), once(incoming, 'end')])
    incoming.socket.resetAndDestroy()
    return
  }
  const body = fault === 'slow' ? await readSlowly(incoming) : await buffer(incoming)
  if (fault === 'busy') {
    response.writeHead(isOdd ? 503 : 500).end('<Error><Code>SlowDown</Code></Error>')
    return
  }
  const { method = '', url: path = '', headers } = incoming
  const forwarded = request({ host: '127.0.0.1', port: service, method, path, headers }).end(body)
  const [answer] = (await once(forwarded, 'response')) as [IncomingMessage]
  const content = await buffer(answer)
  proxy.answered.push(`${method} ${path}`)
  proxy.onAnswer()
  const { 'transfer-encoding': _, ...kept } = answer.headers
  const length = answer.statusCode === 204 ? {} : { 'content-length': content.length }
  response.writeHead(answer.statusCode ?? 0, { ...kept, ...length })
  await send(response, content, fault)
}

async function send(response: ServerResponse, content: Buffer, fault: Fault): Promise<void> {
  if (fault === 'slow') return writeSlowly(response, content)
  if (fault !== 'cut') {
    response.end(content)
    return
  }
  response.write(content.subarray(0, content.length / 2))
  setTimeout(() => response.destroy(), 20)
}

const FEW_BYTES = 2048

async function readSlowly(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) {
    chunks.push(chunk)
    await sleep(50)
  }
  return Buffer.concat(chunks)
}

async function writeSlowly(response: ServerResponse, content: Buffer): Promise<void> {
  for (let at = 0; at < content.length; at += FEW_BYTES) {
    response.write(content.subarray(at, at + FEW_BYTES))
    await sleep(20)
  }
  response.end()
}
