import t from 'tap'
import { buildConfiguration } from '../../../../src/pods/recording/configuration.ts'

const configuration = buildConfiguration({
  name: 'ride-along-recorder',
  url: 'https://10.0.0.7:8443/secret',
  ca: 'PEM',
  namespaces: ['hpc', 'batch'],
  selector: [{ key: 'app', operator: 'Exists' }],
  probe: 'p',
})

t.test(
  'a recorder never prevents the creation of a pod, and delays it by at most 1 s',
  async (t) => {
    const [pods] = configuration.webhooks
    t.match(pods, {
      rules: [{ operations: ['CREATE'], resources: ['pods'] }],
      failurePolicy: 'Ignore',
      timeoutSeconds: 1,
      sideEffects: 'None',
      reinvocationPolicy: 'Never',
    })
  },
)

t.test('only pods of the selected namespaces and labels are recorded', async (t) => {
  const [pods] = configuration.webhooks
  const values = ['hpc', 'batch']
  t.match(pods, {
    namespaceSelector: {
      matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values }],
    },
    objectSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] },
  })
})

t.test("only the webhook for the recorder's own probe may fail a request", async (t) => {
  const strict = configuration.webhooks.filter(({ failurePolicy }) => failurePolicy !== 'Ignore')
  t.match(strict, [
    {
      rules: [{ operations: ['CREATE'], resources: ['namespaces'] }],
      objectSelector: { matchLabels: { 'ridealong.dev/recorder-probe': 'p' } },
    },
  ])
})
