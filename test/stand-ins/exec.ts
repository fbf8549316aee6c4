import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

/** The end of a program that runs in a container, or the status code of a refusal. */
export type ExecAnswer =
  | { readonly refused: number }
  | { readonly exitCode: number; readonly stdout?: string; readonly stderr?: string }
  | { readonly message: string }
  | 'breaks'

/** A request to run a program. */
export interface ExecRequest {
  readonly pod: string
  readonly container: string
  readonly argv: readonly string[]
}

/** Reads the request from its path and query. */
export function readExecRequest({ url = '' }: IncomingMessage): ExecRequest {
  const { pathname, searchParams } = new URL(url, 'https://127.0.0.1')
  const [, , , , , , pod = ''] = pathname.split('/')
  const container = searchParams.get('container') ?? ''
  return { pod, container, argv: searchParams.getAll('command') }
}

/** The channels of the protocol v5.channel.k8s.io. */
const STDOUT = 1
const STDERR = 2
const STATUS = 3
/** The fixed text of RFC 6455, section 1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Answers a request to run a program, over a WebSocket, like the apiserver. */
export function answerExec(request: IncomingMessage, socket: Duplex, answer: ExecAnswer): void {
  if (typeof answer === 'object' && 'refused' in answer) {
    socket.end(`HTTP/1.1 ${answer.refused} Refused\r\nContent-Length: 0\r\n\r\n`)
    return
  }
  const key = `${request.headers['sec-websocket-key']}${GUID}`
  const accept = createHash('sha1').update(key).digest('base64')
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
  const protocol = 'Sec-WebSocket-Protocol: v5.channel.k8s.io'
  socket.on('error', () => {})
  socket.write([...lines, protocol, `Sec-WebSocket-Accept: ${accept}`, '', ''].join('\r\n'))
  if (answer === 'breaks') {
    socket.end()
    return
  }
  if ('message' in answer) {
    socket.write(frame(STATUS, JSON.stringify({ status: 'Failure', message: answer.message })))
    return
  }
  const { exitCode, stdout = '', stderr = '' } = answer
  if (stdout !== '') socket.write(frame(STDOUT, stdout))
  if (stderr !== '') socket.write(frame(STDERR, stderr))
  const causes = [{ reason: 'ExitCode', message: `${exitCode}` }]
  const failure = { status: 'Failure', reason: 'NonZeroExitCode', details: { causes } }
  socket.write(frame(STATUS, JSON.stringify(exitCode === 0 ? { status: 'Success' } : failure)))
}

/** Returns a binary frame of RFC 6455, section 5.2, with the number of a channel. */
function frame(channel: number, text: string): Buffer {
  const payload = Buffer.concat([Buffer.from([channel]), Buffer.from(text)])
  const head = Buffer.alloc(10)
  head[0] = 0x82
  head[1] = 127
  head.writeBigUInt64BE(BigInt(payload.length), 2)
  return Buffer.concat([head, payload])
}
