import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'

/**
 * The least that a webhook in Node can do, for comparison: a bare `node:https` server that parses
 * the body and answers a constant. Arguments: port, certificate, key, file of the answer.
 */
const [port, cert = '', key = '', answer = ''] = process.argv.slice(2)
const constant = readFileSync(answer)

createServer(
  { cert: readFileSync(cert), key: readFileSync(key), keepAliveTimeout: 120_000 },
  (request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      JSON.parse(body)
      response.setHeader('content-type', 'application/json')
      response.end(constant)
    })
  },
).listen(Number(port), '127.0.0.1')
