import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'

/**
 * Serves the smallest possible webhook in Node: a bare `node:https` server with one function that
 * answers each body. The arguments on the command line are the port, the certificate, the key, and
 * the file for `answerFrom`.
 */
export function serveBare(answerFrom: (file: Buffer) => (body: string) => string | Buffer): void {
  const [port, cert = '', key = '', file = ''] = process.argv.slice(2)
  const answer = answerFrom(readFileSync(file))
  createServer(
    { cert: readFileSync(cert), key: readFileSync(key), keepAliveTimeout: 120_000 },
    (request, response) => {
      let body = ''
      request.setEncoding('utf8')
      request.on('data', (chunk) => {
        body += chunk
      })
      request.on('end', () => {
        response.setHeader('content-type', 'application/json')
        response.end(answer(body))
      })
    },
  ).listen(Number(port), '127.0.0.1')
}
