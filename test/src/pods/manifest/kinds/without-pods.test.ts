import t from 'tap'
import { isWithoutPods } from '../../../../../src/pods/manifest/kinds/without-pods.ts'

t.test('kinds of Kubernetes create no pods', async (t) => {
  const names = [
    '/ConfigMap',
    '/Service',
    'rbac.authorization.k8s.io/ClusterRole',
    'apiextensions.k8s.io/CustomResourceDefinition',
    'networking.k8s.io/Ingress',
    'autoscaling/HorizontalPodAutoscaler',
    'resource.k8s.io/ResourceClaimTemplate',
    'storage.k8s.io/StorageClass',
  ]
  for (const name of names) {
    const [group = '', kind = ''] = name.split('/')
    t.ok(isWithoutPods(group, kind), name)
  }
})

t.test('only kinds of the exact groups of Kubernetes are known to create no pods', async (t) => {
  const names = [
    'apps/Deployment',
    'extensions/Deployment',
    'flinkoperator.k8s.io/FlinkCluster',
    'gateway.networking.k8s.io/Gateway',
    'monitoring.coreos.com/ServiceMonitor',
    'example.com/ConfigMap',
    'apps/Thing',
  ]
  for (const name of names) {
    const [group = '', kind = ''] = name.split('/')
    t.notOk(isWithoutPods(group, kind), name)
  }
})
