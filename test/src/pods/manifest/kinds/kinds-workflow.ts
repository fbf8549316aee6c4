import { JOB, type KindRow, NAMESPACE, OBJECT, TEMPLATED } from './kind-row.ts'

const TEKTON = 'tektoncd/pipeline 3ee1745 pkg'
const ARGO = 'argoproj/argo-workflows f016ad89e workflow/signal/signal.go:40'
const KATIB = 'kubeflow/katib 33c8ff4 pkg/controller.v1beta1'

function argo(kind: string): KindRow {
  return ['argoproj.io/v1alpha1', kind, ARGO, '{}', /signals process 1/]
}

/** Kinds of operators that run workflows, experiments and demonstrations. */
export const WORKFLOW_KINDS: readonly KindRow[] = [
  ['tekton.dev/v1', 'TaskRun', `${TEKTON}/pod/pod.go:506`, '{}', OBJECT],
  [
    'tekton.dev/v1',
    'PipelineRun',
    `${TEKTON}/reconciler/pipelinerun/pipelinerun.go:1796`,
    '{}',
    OBJECT,
  ],
  ['tekton.dev/v1', 'Task', `${TEKTON}/reconciler/taskrun/taskrun.go:1328`, '{}', OBJECT],
  [
    'tekton.dev/v1',
    'Pipeline',
    `${TEKTON}/reconciler/pipelinerun/pipelinerun.go:1976`,
    '{}',
    OBJECT,
  ],
  [
    'tekton.dev/v1beta1',
    'ClusterTask',
    'tektoncd/pipeline c6d38c9d pkg/reconciler/taskrun/resources/taskref.go:414',
    '{}',
    OBJECT,
  ],
  [
    'triggers.tekton.dev/v1beta1',
    'TriggerTemplate',
    'tektoncd/triggers 088902973 pkg/template/event.go:71',
    `{resourcetemplates: [${JOB}]}`,
    ['spec.resourcetemplates.0.spec.template.metadata.annotations'],
  ],
  argo('Workflow'),
  argo('CronWorkflow'),
  argo('WorkflowTemplate'),
  argo('ClusterWorkflowTemplate'),
  [
    'kubeflow.org/v1beta1',
    'Experiment',
    `${KATIB}/experiment/manifest/generator.go:206`,
    `{trialTemplate: {trialSpec: ${JOB}}}`,
    ['spec.trialTemplate.trialSpec.spec.template.metadata.annotations'],
  ],
  [
    'kubeflow.org/v1beta1',
    'Trial',
    `${KATIB}/trial/trial_controller.go:330`,
    `{runSpec: ${JOB}}`,
    ['spec.runSpec.spec.template.metadata.annotations'],
  ],
  [
    'keda.sh/v1alpha1',
    'ScaledJob',
    'kedacore/keda 8b4f083 pkg/scaling/executor/scale_jobs.go:189',
    `{jobTargetRef: ${TEMPLATED}}`,
    ['spec.jobTargetRef.template.metadata.annotations'],
  ],
  [
    'my.domain/v1alpha1',
    'Lolcow',
    'vsoch/lolcow-operator 881d4a1 controllers/lolcow/deployment.go:52',
    '{greeting: hi}',
    NAMESPACE,
  ],
  [
    'app.example.com/v1alpha1',
    'Netperf',
    'piontec/netperf-operator b4be7cb pkg/netperf-operator/operator.go:161',
    '{}',
    NAMESPACE,
  ],
]
