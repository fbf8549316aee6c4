import t from 'tap'
import { annotate } from '../../../../../src/pods/manifest/annotate.ts'
import { pathsAt, valueAt } from '../../../../../src/pods/manifest/kinds/paths.ts'
import { readManifests } from '../../../../../src/pods/manifest/read.ts'

const ASK = { 'ridealong.dev/inject': 'io-sysstat' }

function annotated(text: string): string {
  return readManifests('a.yaml', text)
    .map((manifest) => annotate(manifest, ASK, false).text)
    .join('')
}

const POD = '{spec: {containers: [{name: a}]}}'
const DASK = `{worker: {replicas: 2, spec: {containers: [{name: a}]}}, scheduler: ${POD}}`
const TRAINER = 'trainer.kubeflow.org/v1alpha1'
const TRAINER_PLACE =
  'spec.runtimePatches.0.trainingRuntimeSpec.template.spec.replicatedJobs.0.template.spec.' +
  'template.metadata.annotations'
const WRAPPER = 'workload.codeflare.dev/v1beta2'

function wrap(apiVersion: string, kind: string, spec: string): string {
  const template = `{apiVersion: ${apiVersion}, kind: ${kind}, metadata: {name: b}, spec: ${spec}}`
  return `{components: [{template: ${template}}]}`
}

/**
 * Kinds with the fields from which their operators copy annotations to pods, and with a spec in
 * which the fields are missing. By default, several specs are tried.
 */
const KINDS: readonly (readonly [string, string, readonly string[], string?])[] = [
  ['flux-framework.org/v1alpha2', 'MiniCluster', ['spec.pod.annotations']],
  ['flux-framework.org/v1alpha2', 'MetricSet', ['spec.pod.annotations']],
  [
    'sparkoperator.k8s.io/v1beta2',
    'SparkApplication',
    ['spec.driver.annotations', 'spec.executor.annotations'],
  ],
  ['tekton.dev/v1', 'TaskRun', ['metadata.annotations']],
  ['tekton.dev/v1', 'PipelineRun', ['metadata.annotations']],
  ['tekton.dev/v1', 'Task', ['metadata.annotations']],
  ['tekton.dev/v1', 'Pipeline', ['metadata.annotations']],
  ['serving.knative.dev/v1', 'Service', ['spec.template.metadata.annotations']],
  [
    'spark.apache.org/v1',
    'SparkCluster',
    ['master', 'worker'].map((role) => {
      return `spec.${role}Spec.statefulSetSpec.template.metadata.annotations`
    }),
  ],
  ['flink.apache.org/v1beta1', 'FlinkDeployment', ['spec.podTemplate.metadata.annotations']],
  [
    'serving.kserve.io/v1beta1',
    'InferenceService',
    ['spec.predictor.annotations'],
    '{predictor: {model: {modelFormat: {name: sklearn}}}}',
  ],
  [
    'serving.kserve.io/v1beta1',
    'InferenceService',
    ['spec.predictor.annotations', 'spec.transformer.annotations', 'spec.explainer.annotations'],
    '{predictor: {minReplicas: 1}, transformer: {minReplicas: 1}, explainer: {minReplicas: 1}}',
  ],
  ['serving.kserve.io/v1alpha1', 'ServingRuntime', ['spec.annotations']],
  ['serving.kserve.io/v1alpha2', 'LLMInferenceService', ['spec.annotations']],
  [
    'serving.kserve.io/v1alpha2',
    'LLMInferenceService',
    ['spec.annotations', 'spec.prefill.annotations'],
    '{model: {uri: "hf://m"}, prefill: {replicas: 2}}',
  ],
  ['apps.nvidia.com/v1alpha1', 'NIMService', ['spec.annotations']],
  [
    'apps.nvidia.com/v1alpha1',
    'NIMPipeline',
    ['spec.services.0.spec.annotations', 'spec.services.1.spec.annotations'],
    '{services: [{name: a, spec: {replicas: 1}}, {name: b, spec: {replicas: 1}}]}',
  ],
  ['monitoring.coreos.com/v1', 'Prometheus', ['spec.podMetadata.annotations']],
  ...['PrometheusAgent', 'Alertmanager', 'ThanosRuler'].map((kind) => {
    return ['monitoring.coreos.com/v1', kind, ['spec.podMetadata.annotations']] as const
  }),
  ['opentelemetry.io/v1beta1', 'OpenTelemetryCollector', ['spec.podAnnotations']],
  ['opentelemetry.io/v1alpha1', 'TargetAllocator', ['spec.podAnnotations']],
  ['opentelemetry.io/v1alpha1', 'OpAMPBridge', ['spec.podAnnotations']],
  ...['Customizer', 'Datastore', 'Entitystore', 'Evaluator', 'Guardrail'].map((name) => {
    return ['apps.nvidia.com/v1alpha1', `Nemo${name}`, ['spec.annotations']] as const
  }),
  ['apps.nvidia.com/v1alpha1', 'NIMBuild', ['metadata.annotations']],
  ['production-stack.vllm.ai/v1alpha1', 'VLLMRuntime', ['spec.deploymentConfig.podAnnotations']],
  [
    'kubeflow.org/v1',
    'Notebook',
    ['metadata.annotations'],
    '{template: {spec: {containers: [{name: a, image: b}]}}}',
  ],
  [
    'batch.volcano.sh/v1alpha1',
    'CronJob',
    ['spec.jobTemplate.spec.tasks.0.template.metadata.annotations'],
    `{jobTemplate: {spec: {tasks: [{name: a, template: ${POD}}]}}}`,
  ],
  [
    'flow.volcano.sh/v1alpha1',
    'JobTemplate',
    ['spec.tasks.0.template.metadata.annotations'],
    `{tasks: [{name: a, template: ${POD}}]}`,
  ],
  [
    'disaggregatedset.x-k8s.io/v1',
    'DisaggregatedSet',
    ['leader', 'worker'].map((role) => {
      return `spec.roles.0.spec.leaderWorkerTemplate.${role}Template.metadata.annotations`
    }),
    `{roles: [{spec: {leaderWorkerTemplate: {leaderTemplate: ${POD}, workerTemplate: ${POD}}}}]}`,
  ],
  [
    'ray.io/v1',
    'RayCronJob',
    [
      'spec.jobTemplate.rayClusterSpec.headGroupSpec.template.metadata.annotations',
      'spec.jobTemplate.rayClusterSpec.workerGroupSpecs.0.template.metadata.annotations',
      'spec.jobTemplate.submitterPodTemplate.metadata.annotations',
    ],
    `{jobTemplate: {submitterPodTemplate: ${POD}, rayClusterSpec: ` +
      `{headGroupSpec: {template: ${POD}}, workerGroupSpecs: [{template: ${POD}}]}}}`,
  ],
  [
    'kubernetes.dask.org/v1',
    'DaskCluster',
    ['spec.worker.metadata.annotations', 'spec.scheduler.metadata.annotations'],
    DASK,
  ],
  [
    'kubernetes.dask.org/v1',
    'DaskWorkerGroup',
    ['spec.worker.metadata.annotations'],
    '{cluster: a, worker: {replicas: 2, spec: {containers: [{name: a}]}}}',
  ],
  [
    'kubernetes.dask.org/v1',
    'DaskJob',
    ['job', 'cluster.spec.worker', 'cluster.spec.scheduler'].map((path) => {
      return `spec.${path}.metadata.annotations`
    }),
    `{job: ${POD}, cluster: {spec: ${DASK}}}`,
  ],
  [
    'keda.sh/v1alpha1',
    'ScaledJob',
    ['spec.jobTargetRef.template.metadata.annotations'],
    `{jobTargetRef: {template: ${POD}}}`,
  ],
  [
    WRAPPER,
    'AppWrapper',
    ['spec.components.0.template.metadata.annotations'],
    wrap('v1', 'Pod', '{containers: [{name: a}]}'),
  ],
  [
    WRAPPER,
    'AppWrapper',
    ['spec.components.0.template.spec.pod.annotations'],
    wrap('flux-framework.org/v1alpha2', 'MiniCluster', '{size: 2}'),
  ],
  [
    WRAPPER,
    'AppWrapper',
    ['spec.components.0.template.spec.components.0.template.spec.template.metadata.annotations'],
    wrap(WRAPPER, 'AppWrapper', wrap('batch/v1', 'Job', `{template: ${POD}}`)),
  ],
  [TRAINER, 'TrainJob', [TRAINER_PLACE]],
  [
    TRAINER,
    'TrainJob',
    [TRAINER_PLACE],
    '{runtimePatches: [{manager: me, trainingRuntimeSpec: {template: {spec: {replicatedJobs: ' +
      '[{name: node, template: {spec: {template: {spec: {nodeSelector: {a: b}}}}}}]}}}}]}',
  ],
]

for (const [apiVersion, kind, paths, spec] of KINDS) {
  t.test(`a ${kind} is annotated in ${paths.join(' and ')}`, async (t) => {
    const head = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a} # mine\n`
    const specs = spec === undefined ? ['\n  size: 2 # two', '{size: 2}', '{}'] : [spec]
    for (const text of specs.map((one) => `${head}spec: ${one}\n`)) {
      const out = annotated(text)
      const value = readManifests('a.yaml', out)[0]?.value
      for (const path of paths) t.strictSame(valueAt(value, path.split('.')), ASK, path)
      const count = out.split('ridealong.dev/inject').length - 1
      t.equal(count, paths.length, 'no other field is annotated')
      t.equal(annotated(out), out, 'a second annotate changes nothing')
      t.match(out, '# mine')
    }
  })
}

t.test('a SparkApplication of Spark itself is annotated in its configuration', async (t) => {
  const head = 'apiVersion: spark.apache.org/v1\nkind: SparkApplication\nmetadata: {name: pi}\n'
  for (const spec of ['\n  sparkConf:\n    spark.executor.instances: "2"', '{}']) {
    const out = annotated(`${head}spec: ${spec}\n`)
    const value = readManifests('a.yaml', out)[0]?.value
    t.match(valueAt(value, ['spec', 'sparkConf']), {
      'spark.kubernetes.driver.annotation.ridealong.dev/inject': 'io-sysstat',
      'spark.kubernetes.executor.annotation.ridealong.dev/inject': 'io-sysstat',
    })
    t.equal(annotated(out), out)
  }
})

t.test(
  'a SparkConnect is annotated in the template of its server and in its configuration',
  async (t) => {
    const head =
      'apiVersion: sparkoperator.k8s.io/v1alpha1\nkind: SparkConnect\nmetadata: {name: a}\n'
    const out = annotated(`${head}spec: {server: {cores: 1}, executor: {instances: 2}}\n`)
    const value = readManifests('a.yaml', out)[0]?.value
    t.strictSame(valueAt(value, ['spec', 'server', 'template', 'metadata', 'annotations']), ASK)
    t.strictSame(valueAt(value, ['spec', 'sparkConf']), {
      'spark.kubernetes.executor.annotation.ridealong.dev/inject': 'io-sysstat',
    })
    t.equal(annotated(out), out)
  },
)

t.test('a TrainJob with patches of others gets a patch of its own', async (t) => {
  const out = annotated(`apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a}
spec:
  runtimePatches:
  - manager: kueue.x-k8s.io/manager # of Kueue
    trainingRuntimeSpec: {template: {metadata: {labels: {a: b}}}}
`)
  const value = readManifests('a.yaml', out)[0]?.value
  t.match(valueAt(value, ['spec', 'runtimePatches']), [
    { manager: 'kueue.x-k8s.io/manager' },
    { manager: 'ridealong.dev/annotate' },
  ])
  t.match(out, '# of Kueue')
  t.equal(annotated(out), out)
})

t.test('a step that must exist matches only objects that have it', async (t) => {
  t.strictSame(pathsAt({ spec: { a: {} } }, 'spec.a?.b'), [['spec', 'a', 'b']])
  t.strictSame(pathsAt({ spec: { a: null } }, 'spec.a?.b'), [])
  t.strictSame(pathsAt({}, 'spec.a?.b'), [])
})
