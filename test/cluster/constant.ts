import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'

/**
 * The least that a webhook can do, for comparison: it answers every review with the same patch and looks
 * at nothing but the uid, which an answer must repeat. Arguments: port, certificate, key, file of the
 * patch.
 */
const [port, cert = '', key = '', file = ''] = process.argv.slice(2)
const patch = readFileSync(file).toString('base64')

createServer(
  { cert: readFileSync(cert), key: readFileSync(key), keepAliveTimeout: 120_000 },
  (request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const uid = /"uid":"([^"]+)"/.exec(body)?.[1]
      const verdict = { uid, allowed: true, patchType: 'JSONPatch', patch }
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({
          apiVersion: 'admission.k8s.io/v1',
          kind: 'AdmissionReview',
          response: verdict,
        }),
      )
    })
  },
).listen(Number(port), '127.0.0.1')
