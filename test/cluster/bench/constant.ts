/**
 * The simplest possible webhook, for comparison: it answers every review with the same patch and
 * reads only the uid, which an answer must repeat.
 */
import { serveBare } from '../../bench/bare-server.ts'

serveBare((file) => {
  const patch = file.toString('base64')
  return (body) => {
    const uid = /"uid":"([^"]+)"/.exec(body)?.[1]
    const response = { uid, allowed: true, patchType: 'JSONPatch', patch }
    return JSON.stringify({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response,
    })
  }
})
