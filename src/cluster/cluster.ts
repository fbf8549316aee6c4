import type { RequestOptions } from 'node:https'

/** Where an apiserver is, and what opens it. */
export interface Access {
  readonly server: string
  /** What the next call carries: the authority, and a token or a certificate. They are renewed. */
  credentials(): Promise<RequestOptions>
}

/** A cluster that was found. */
export interface Cluster extends Access {
  /** What names it: a kubeconfig, several with the delimiter of KUBECONFIG, or a service account's folder. */
  readonly source: string
  /** The namespace of the context, or that of the pod around this process, where there is one. */
  readonly namespace: string | undefined
}
