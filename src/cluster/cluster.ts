import type { RequestOptions } from 'node:https'

/** The address of an apiserver, and the credentials for it. */
export interface Access {
  readonly server: string
  /**
   * Returns the options of the next request: the CA certificate, and a token or a client
   * certificate. Call this function for each request, because credentials are renewed.
   */
  credentials(): Promise<RequestOptions>
}

/** A cluster that was found in the configuration. */
export interface Cluster extends Access {
  /**
   * The source of the configuration: a kubeconfig, several kubeconfigs joined by the delimiter of
   * KUBECONFIG, or the folder of a service account.
   */
  readonly source: string
  /**
   * The namespace of the context, or of the pod in which this process runs; undefined if none was
   * found.
   */
  readonly namespace: string | undefined
}
