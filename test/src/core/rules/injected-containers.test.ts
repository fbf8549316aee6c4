import t from 'tap'
import { askingPod, type Json, perfOf, ride, type Texts, variable } from '../build.ts'

const named = (name: string, more: Json = {}) => ({ name, image: 'a', ...more })

/** Returns the target of the observer of a pod with these containers. */
function targetOf(containers: readonly Json[], annotations: Texts = {}): string | undefined {
  return variable(
    perfOf(ride(askingPod({ containers }, annotations))),
    'RIDEALONG_TARGET_CONTAINER',
  )
}

t.test('the default target is the first container that no other injector added', async (t) => {
  const injected = [
    'gke-gcsfuse-sidecar',
    'gke-gcsfuse-metadata-prefetch',
    'fluid-fuse-0',
    'fluid-file-prefetcher',
    'jfs-mount',
    'jfs-mount-1',
    'istio-proxy',
    'linkerd-proxy',
    'kuma-sidecar',
    'consul-dataplane',
    'consul-dataplane-web',
    'xray-daemon',
    'daprd',
    'vault-agent',
    'consul-template',
    'csql-default-db',
    'cloud-sql-proxy',
    'otc-container',
    'opentelemetry-auto-instrumentation',
    'jaeger-agent',
    'flagd',
    'azwi-proxy',
    'datadog-agent-injected',
    'newrelic-infrastructure-sidecar',
    'crowdstrike-falcon-container',
    'tailing-sidecar-0',
    'metrics-logger-and-collector',
    'metrics-collector',
    'queue-proxy',
    'modelcar',
    'modelcar-1',
    'traffic-agent',
  ]
  for (const name of injected) {
    t.equal(targetOf([named(name), named('base'), named('other')]), 'base', name)
    t.equal(targetOf([named('base'), named(name)]), 'base', `${name} is second`)
    t.equal(targetOf([named(name)]), name, `${name} is the only container`)
  }
  t.equal(targetOf([named('istio-proxy'), named('daprd'), named('lammps')]), 'lammps')
})

t.test('a container of OpenKruise is recognized by its variable, whatever its name', async (t) => {
  const env = [
    { name: 'A', value: 'b' },
    { name: 'IS_INJECTED', value: 'true' },
  ]
  t.equal(targetOf([named('logs', { env }), named('base')]), 'base')
  t.equal(targetOf([named('logs', { env: [null, 7, {}] }), named('base')]), 'logs')
})

t.test('the proxy of AWS App Mesh is recognized by its variable', async (t) => {
  const env = [{ name: 'APPMESH_VIRTUAL_NODE_NAME', value: 'mesh/a/virtualNode/b' }]
  t.equal(targetOf([named('envoy', { env }), named('base')]), 'base')
  t.equal(targetOf([named('envoy'), named('base')]), 'envoy')
})

t.test('a container with a similar name is the target', async (t) => {
  for (const name of [
    'istio',
    'my-istio-proxy',
    'istio-proxy-2',
    'csql',
    'vault',
    'fluid',
    'dapr',
    'envoy',
    'agent',
    'fluid-dynamics',
  ]) {
    t.equal(targetOf([named(name), named('other')]), name)
  }
})

t.test('a container that the request or the pod names is the target in any case', async (t) => {
  const containers = [named('istio-proxy'), named('base'), named('daprd')]
  t.equal(targetOf(containers, { 'ridealong.dev/target-container': 'istio-proxy' }), 'istio-proxy')
  t.equal(targetOf(containers, { 'kubectl.kubernetes.io/default-container': 'daprd' }), 'daprd')
})

t.test(
  'in mode container, the default target becomes the default container of kubectl',
  async (t) => {
    const containers = [named('istio-proxy'), named('base')]
    const { pod } = ride(askingPod({ containers }, { 'ridealong.dev/mode': 'container' }))
    t.equal(pod.metadata.annotations?.['kubectl.kubernetes.io/default-container'], 'base')
  },
)
