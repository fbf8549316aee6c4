import { type KindRow, NAMESPACE, OBJECT, POD, SPEC, TEMPLATE, TEMPLATED } from './kind-row.ts'

const KNATIVE = 'knative/serving 98e5ef9 pkg/reconciler'
const KSERVE = 'kserve/kserve aaac4e2 pkg/controller'
const COMPONENTS = `${KSERVE}/v1beta1/inferenceservice/components`
const LLM = `${KSERVE}/v1alpha2/llmisvc`
const LLM_SPEC = '{model: {uri: "hf://m"}, prefill: {replicas: 2}}'
const LLM_PATHS = ['spec.annotations', 'spec.prefill.annotations']
const NIM = 'NVIDIA/k8s-nim-operator f63f74d'
const NIM_TYPES = `${NIM} api/apps/v1alpha1`
const NIM_GROUP = 'apps.nvidia.com/v1alpha1'
const VLLM = 'vllm-project/production-stack a6c01db operator/internal/controller'
const VLLM_GROUP = 'production-stack.vllm.ai/v1alpha1'
const GRAPH = 'deploy/operator/internal/dynamo/graph.go'
const WORKSPACES =
  'kubeflow/notebooks 8b610577 workspaces/controller/internal/controller/workspace_controller.go'
const POD_METADATA = ['spec.podTemplate.podMetadata.annotations']

/** The worker of a runtime has annotations of its own. */
const RUNTIME = `{containers: [{name: a}], workerSpec: {containers: [{name: a}]}}`
const RUNTIME_PATHS = ['spec.annotations', 'spec.workerSpec.annotations']

function nemo(name: string, line: string): KindRow {
  return [NIM_GROUP, `Nemo${name}`, `${NIM_TYPES}/nemo_${line}`, '{}', SPEC]
}

/** Kinds of operators of services, of inference, and of notebooks. */
export const SERVING_KINDS: readonly KindRow[] = [
  [
    'serving.knative.dev/v1',
    'Service',
    `${KNATIVE}/service/resources/configuration.go:66`,
    TEMPLATED,
    TEMPLATE,
  ],
  [
    'serving.knative.dev/v1',
    'Configuration',
    `${KNATIVE}/configuration/resources/revision.go:35`,
    TEMPLATED,
    TEMPLATE,
  ],
  [
    'serving.kserve.io/v1beta1',
    'InferenceService',
    `${COMPONENTS}/predictor.go:519, transformer.go:120, explainer.go:117`,
    '{predictor: {minReplicas: 1}, transformer: {minReplicas: 1}, explainer: {minReplicas: 1}}',
    ['predictor', 'transformer', 'explainer'].map((name) => `spec.${name}.annotations`),
  ],
  [
    'serving.kserve.io/v1alpha1',
    'ServingRuntime',
    `${COMPONENTS}/predictor.go:517, 550`,
    RUNTIME,
    RUNTIME_PATHS,
  ],
  [
    'serving.kserve.io/v1alpha1',
    'ClusterServingRuntime',
    `${KSERVE}/v1beta1/inferenceservice/utils/utils.go:317`,
    RUNTIME,
    RUNTIME_PATHS,
  ],
  [
    'serving.kserve.io/v1alpha2',
    'LLMInferenceService',
    `${LLM}/workload_single_node.go:182, 287`,
    LLM_SPEC,
    LLM_PATHS,
  ],
  [
    'serving.kserve.io/v1alpha2',
    'LLMInferenceServiceConfig',
    `${LLM}/config_merge.go:369`,
    LLM_SPEC,
    LLM_PATHS,
  ],
  [NIM_GROUP, 'NIMService', `${NIM_TYPES}/nimservice_types.go:1285`, '{replicas: 1}', SPEC],
  [
    NIM_GROUP,
    'NIMPipeline',
    `${NIM} internal/controller/nimpipeline_controller.go:186`,
    '{services: [{name: a, spec: {replicas: 1}}, {name: b, spec: {replicas: 1}}]}',
    ['spec.services.0.spec.annotations', 'spec.services.1.spec.annotations'],
  ],
  nemo('Customizer', 'customizer_types.go:723'),
  nemo('Datastore', 'datastore_types.go:857'),
  nemo('Entitystore', 'entitystore_types.go:485'),
  nemo('Evaluator', 'evaluator_types.go:674'),
  nemo('Guardrail', 'guardrails_types.go:691'),
  [NIM_GROUP, 'NIMBuild', `${NIM} internal/controller/nimbuild_controller.go:539`, '{}', OBJECT],
  [
    NIM_GROUP,
    'NIMCache',
    `${NIM} internal/controller/nimcache_controller.go:1015, 1102`,
    '{}',
    NAMESPACE,
  ],
  [
    VLLM_GROUP,
    'VLLMRuntime',
    `${VLLM}/vllmruntime_controller.go:821`,
    '{}',
    ['spec.deploymentConfig.podAnnotations'],
  ],
  [VLLM_GROUP, 'VLLMRouter', `${VLLM}/vllmrouter_controller.go:314`, '{}', NAMESPACE],
  [VLLM_GROUP, 'CacheServer', `${VLLM}/cacheserver_controller.go:176`, '{}', NAMESPACE],
  [
    'nvidia.com/v1alpha1',
    'DynamoGraphDeployment',
    `ai-dynamo/dynamo 0d597e7c ${GRAPH}:1281`,
    '{services: {Frontend: {replicas: 1}, decode: {extraPodSpec: {mainContainer: {image: a}}}}}',
    ['Frontend', 'decode'].map((name) => `spec.services.${name}.extraPodMetadata.annotations`),
  ],
  [
    'nvidia.com/v1beta1',
    'DynamoGraphDeployment',
    `ai-dynamo/dynamo 2a6da14c8 ${GRAPH}:3010`,
    `{components: [{name: a, podTemplate: {spec: ${POD}}}, {name: b, replicas: 2}]}`,
    ['0', '1'].map((index) => `spec.components.${index}.podTemplate.metadata.annotations`),
  ],
  [
    'kubeflow.org/v1',
    'Notebook',
    'opendatahub-io/kubeflow b85f66a components/notebook-controller/controllers/' +
      'notebook_controller.go:489',
    TEMPLATED,
    OBJECT,
  ],
  ['kubeflow.org/v1beta1', 'Workspace', `${WORKSPACES}:995`, '{kind: jupyter}', POD_METADATA],
  ['kubeflow.org/v1beta1', 'WorkspaceKind', `${WORKSPACES}:991`, '{}', POD_METADATA],
]
