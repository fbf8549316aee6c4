import t from 'tap'
import { annotate } from '../../../../../src/pods/manifest/annotate.ts'
import { whyNoPods } from '../../../../../src/pods/manifest/kinds/without-pods.ts'
import { readManifests } from '../../../../../src/pods/manifest/read.ts'

/** Kinds that create no pods, of the groups that are most frequent beside workloads. */
const DATA = [
  'v1/ConfigMap',
  'v1/Service',
  'rbac.authorization.k8s.io/v1/ClusterRole',
  'apiextensions.k8s.io/v1/CustomResourceDefinition',
  'networking.k8s.io/v1/Ingress',
  'gateway.networking.k8s.io/v1/HTTPRoute',
  'autoscaling/v2/HorizontalPodAutoscaler',
  'cert-manager.io/v1/Certificate',
  'cert-manager.io/v1/ClusterIssuer',
  'monitoring.coreos.com/v1/ServiceMonitor',
  'monitoring.coreos.com/v1/PrometheusRule',
  'kueue.x-k8s.io/v1beta1/ClusterQueue',
  'scheduling.volcano.sh/v1beta1/Queue',
  'networking.istio.io/v1/VirtualService',
  'kyverno.io/v1/ClusterPolicy',
  'constraints.gatekeeper.sh/v1beta1/K8sRequiredLabels',
  'external-secrets.io/v1/ExternalSecret',
  'keda.sh/v1alpha1/ScaledObject',
  'argoproj.io/v1alpha1/Application',
  'source.toolkit.fluxcd.io/v1/GitRepository',
  'karpenter.sh/v1/NodePool',
  'iam.services.k8s.aws/v1alpha1/Role',
  'infrastructure.cluster.x-k8s.io/v1beta1/AWSCluster',
  'operators.coreos.com/v1alpha1/Subscription',
  'kubernetes.dask.org/v1/DaskAutoscaler',
]

for (const name of DATA) {
  const [apiVersion, kind] = [name.slice(0, name.lastIndexOf('/')), name.split('/').at(-1) ?? '']
  t.test(`a ${kind} creates no pods, and annotate does not report it`, async (t) => {
    const text = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a}\nspec: {a: b}\n`
    const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : ''
    t.type(whyNoPods(group, kind), 'string')
    const notes = readManifests('a.yaml', text).map((manifest) => annotate(manifest, {}, false))
    t.strictSame(
      notes.flatMap(({ passedOver }) => passedOver),
      [],
    )
  })
}

t.test('a kind of an unknown group, and an unknown kind of a known group, may create pods', (t) => {
  t.equal(whyNoPods('example.com', 'Thing'), undefined)
  t.equal(whyNoPods('monitoring.coreos.com', 'Prometheus'), undefined)
  t.equal(whyNoPods('argoproj.io', 'Rollout'), undefined)
  t.equal(whyNoPods('sparkoperator.k8s.io', 'SparkApplication'), undefined)
  t.end()
})
