import type { PrefixedAnnotations } from '../../../../../src/pods/manifest/kinds/table.ts'

/** A known kind, and what `annotate` does with an object of this kind. */
export type KindRow = readonly [
  apiVersion: string,
  kind: string,
  /**
   * The repository, the commit and the lines that copy a pod template or annotations to pods, or
   * define the template; for kinds without such a field, the lines that show its absence.
   */
  source: string,
  spec: string,
  /** The annotated fields, or the advice for a kind without such a field. */
  expected: readonly (string | PrefixedAnnotations)[] | RegExp,
  /** The name of the field with the spec, if it is not `spec`. */
  field?: string,
]

export const API = 'kubernetes/api 10b39a39b'

export const POD = '{containers: [{name: main, image: a}]}'
export const TEMPLATED = `{template: {spec: ${POD}}}`

/** A whole object, for kinds that contain such objects. */
export const JOB = `{apiVersion: batch/v1, kind: Job, metadata: {name: b}, spec: ${TEMPLATED}}`

export const OBJECT = ['metadata.annotations']
export const SPEC = ['spec.annotations']
export const TEMPLATE = ['spec.template.metadata.annotations']

export const NAMESPACE = /annotate the namespace$/
