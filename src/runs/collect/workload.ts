/** The selected pods: by name, or by a label selector. */
export type Chosen =
  | { readonly by: 'name'; readonly name: string; readonly words: string }
  | { readonly by: 'labels'; readonly selector: string; readonly words: string }

/**
 * The label that identifies the pods of each kind, as the controller of the kind sets it:
 * - Job: kubernetes pkg/apis/batch/types.go, JobNameLabel
 * - Flux MiniCluster: the old label of its Job, which has the same name as the MiniCluster; the
 *   services pod of the MiniCluster has only this label
 * - JobSet: api/jobset/v1alpha2, JobSetNameKey
 * - MPIJob and Kubeflow Training: kubeflow/common, JobNameLabel
 */
const LABEL_OF: Readonly<Record<string, string>> = {
  job: 'batch.kubernetes.io/job-name',
  minicluster: 'job-name',
  jobset: 'jobset.sigs.k8s.io/jobset-name',
  mpijob: 'training.kubeflow.org/job-name',
  pytorchjob: 'training.kubeflow.org/job-name',
}

/** RFC 1123 subdomain, the format of the names of Kubernetes objects. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

/**
 * Parses KIND/NAME as kubectl does: in upper or lower case, singular or plural, with or without a
 * group.
 *
 * @returns the pods to look for, or a sentence with the problem
 */
export function readWorkload(written: string): Chosen | { readonly problem: string } {
  const [kind = '', name, ...more] = written.split('/')
  const known = ['pod', ...Object.keys(LABEL_OF)]
  if (name === undefined || more.length > 0 || !NAME.test(name))
    return { problem: `"${written}" is not KIND/NAME, such as job/lammps` }
  const [word = ''] = kind.toLowerCase().split('.')
  const singular = known.find((one) => word === one || word === `${one}s`)
  if (singular === undefined)
    return {
      problem: `kind "${kind}" needs --selector; kinds that can be named are ${known.join(', ')}`,
    }
  if (singular === 'pod') return { by: 'name', name, words: `pod/${name}` }
  return { by: 'labels', selector: `${LABEL_OF[singular]}=${name}`, words: `${singular}/${name}` }
}

/**
 * Returns the selection of pods for a label selector in the syntax of kubectl. The apiserver
 * validates the selector.
 */
export function readSelector(selector: string): Chosen {
  return { by: 'labels', selector, words: `selector ${selector}` }
}
