import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { installOwn } from '../../release/own-certificate.ts'
import { runningCluster } from '../../running.ts'

// Installs the chart with certificates.mode=self and certificates that are renewed every minute.
// While pods are created, no pod is missed, that is, created without observers because no replica
// answered.

/** How long certificates are renewed every minute. */
const { OWN_CERTIFICATE_MINUTES = '3' } = process.env
const MINUTES = Number(OWN_CERTIFICATE_MINUTES)

t.test('no pod is missed while the certificate is renewed every minute', async (t) => {
  const { cluster, api } = await runningCluster(t)
  // A certificate is renewed when half of its lifetime remains.
  const { current, noneMissed } = await installOwn(t, cluster, api, 'ridealong-renewal', '2m')
  const serials = new Set<string | undefined>()
  await noneMissed(t, async () => {
    const end = performance.now() + MINUTES * 60_000
    while (performance.now() < end) {
      serials.add((await current())?.serialNumber)
      await sleep(1000)
    }
  })
  t.comment(`${serials.size} certificates in ${MINUTES} minutes`)
  t.ok(serials.size >= MINUTES - 1, 'there was a new certificate in almost every minute')
})
