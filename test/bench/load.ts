import { connect, type TLSSocket } from 'node:tls'

export interface LoadOptions {
  readonly port: number
  readonly ca: string
  /** The path and query, as the apiserver writes them. */
  readonly path: string
  readonly body: string
  readonly connections: number
  readonly seconds: number
}

export interface LoadResult {
  readonly answers: number
  readonly perSecond: number
  /** Answers that were not HTTP 200. */
  readonly refused: number
}

/**
 * Sends requests to a server over several keep-alive connections at once. Like the apiserver, each
 * connection waits for the answer before the next request. The client writes one prepared buffer
 * and counts answers by their Content-Length, so that the client itself uses little processor time.
 */
export async function load(options: LoadOptions): Promise<LoadResult> {
  const request = requestOf(options)
  const sockets = await Promise.all(
    Array.from({ length: options.connections }, () => open(options.port, options.ca)),
  )
  const count = { answers: 0, refused: 0 }
  const start = performance.now()
  const end = start + options.seconds * 1000
  await Promise.all(sockets.map((socket) => ask(socket, request, end, count)))
  const seconds = (performance.now() - start) / 1000
  for (const socket of sockets) socket.destroy()
  return { ...count, perSecond: count.answers / seconds }
}

function requestOf({ path, body }: LoadOptions): Buffer {
  const length = Buffer.byteLength(body)
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    'User-Agent: kube-apiserver-admission',
    'Accept: application/json, */*',
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    'Accept-Encoding: gzip',
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function open(port: number, ca: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ca, servername: 'localhost' })
    socket.once('error', reject)
    socket.once('secureConnect', () => resolve(socket.setNoDelay(true)))
  })
}

async function ask(
  socket: TLSSocket,
  request: Buffer,
  end: number,
  count: { answers: number; refused: number },
): Promise<void> {
  while (performance.now() < end) {
    socket.write(request)
    await answerOn(socket, count)
    count.answers += 1
  }
}

function answerOn(socket: TLSSocket, count: { refused: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    let missing = 0
    const take = (chunk: Buffer) => {
      missing = (missing || sizeOf(chunk, count)) - chunk.length
      if (missing > 0) return
      socket.off('data', take).off('close', fail)
      resolve()
    }
    const fail = () => reject(new Error('the server closed a connection'))
    socket.on('data', take).on('close', fail)
  })
}

/** Returns the length of an answer in bytes. The first chunk of the answer contains all headers. */
function sizeOf(chunk: Buffer, count: { refused: number }): number {
  const head = chunk.toString('latin1', 0, chunk.indexOf('\r\n\r\n'))
  if (!head.startsWith('HTTP/1.1 200')) count.refused += 1
  const length = /content-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`an answer without Content-Length: ${head}`)
  return head.length + 4 + Number(length)
}
