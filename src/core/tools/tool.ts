/**
 * A library that a metric loads into the application. An init container copies the library into a
 * volume of the pod. Variables of the target load it, and the observer reads the results that it
 * writes into the volume.
 */
export interface Tool {
  /** The init container that copies the tool into the volume. */
  readonly installer: InstallerContainer
  /** The size limit of the volume, a quantity such as `256Mi`. */
  readonly sizeLimit: string
  /** The folders of the volume that the target gets read-only. */
  readonly mounts: readonly ToolMount[]
  /** The folder of the volume that the target gets writable, and that the observer reads. */
  readonly results: ToolMount
  /** The variables that the target gets. */
  readonly variables: readonly ToolVariable[]
}

/** The fields of the init container that a catalog document defines. */
export interface InstallerContainer {
  readonly image: string
  readonly imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never'
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly resources: { readonly limits: { readonly cpu: string; readonly memory: string } }
}

/** A folder of the volume, and the path at which the target gets it. */
export interface ToolMount {
  readonly subPath: string
  readonly mountPath: string
}

/**
 * A variable of the target. Its value is a text or the value of an option. With a separator, the
 * value is appended to the value that the target has. Without a separator, the target must not have
 * the variable.
 */
export type ToolVariable = {
  readonly name: string
  readonly separator?: string
  /** The program that passes the variable to the ranks that it starts in other pods over ssh. */
  readonly forwardedBy?: 'open-mpi'
} & ({ readonly value: string } | { readonly option: string })

/** The path at which the installer has the whole volume. */
export const VOLUME_PATH = '/ridealong/volume'

/** The path at which the observer has the results of the tool. */
export const RESULTS_PATH = '/ridealong/results'

/** Returns the name of the init container that installs the tool of a metric. */
export function installerName(metric: string): string {
  return `${metric}-install`
}

/** The beginning of the names of all volumes of tools. */
export const TOOL_VOLUME = 'ridealong-tool-'

/**
 * The maximum length of the name of a metric with a tool. The names of its volume and of its
 * installer are DNS labels of at most 63 characters.
 */
export const LONGEST_TOOL_NAME = 39
