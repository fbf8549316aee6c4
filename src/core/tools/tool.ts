/**
 * A library that a metric loads into the application. An init container copies the library into a
 * volume of the pod, or the library is mounted from its image. Variables of the target load it, and
 * the observer reads the results that it writes into the volume.
 */
export type Tool = ToolFields & ToolSource

interface ToolFields {
  /** The size limit of the volume, a quantity such as `256Mi`. */
  readonly sizeLimit: string
  /** The folders of the volume, or of the image, that the target gets read-only. */
  readonly mounts: readonly ToolMount[]
  /** The folder of the volume that the target gets writable, and that the observer reads. */
  readonly results: ToolMount
  /** The variables that the target gets. */
  readonly variables: readonly ToolVariable[]
}

/** The source of the files of a tool. */
export type ToolSource =
  /** The init container that copies the tool into the volume. */
  | { readonly installer: InstallerContainer; readonly imageVolume?: undefined }
  /** The image that is mounted. The volume then has only the results. */
  | { readonly installer?: undefined; readonly imageVolume: ToolImage }

/** The image of a tool. */
export interface ToolImage {
  readonly image: string
  readonly imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never'
}

/** The fields of the init container that a catalog document defines. */
export interface InstallerContainer extends ToolImage {
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly resources: { readonly limits: { readonly cpu: string; readonly memory: string } }
}

/** A folder of a volume, and the path at which the target gets it. */
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

/** Returns the image of a tool. */
export function toolImage({ installer, imageVolume }: Tool): ToolImage {
  return installer ?? imageVolume
}

/** The beginning of the names of the volumes with the results of tools. */
export const TOOL_VOLUME = 'ridealong-tool-'

/**
 * The beginning of the names of volumes that are images of tools. The rest of the name is that of
 * the volume with the results, by which both are found.
 */
export const IMAGE_VOLUME = 'ridealong-lib-'

/**
 * The first minor version of Kubernetes that has image volumes by default (feature gate ImageVolume
 * in kubernetes v1.35 pkg/features/kube_features.go). An older apiserver drops the field, and then
 * refuses the pod, because a volume lacks its type.
 */
export const IMAGE_VOLUMES_SINCE = 35

/**
 * The maximum length of the name of a metric with a tool. The names of its volume and of its
 * installer are DNS labels of at most 63 characters.
 */
export const MAX_TOOL_NAME_LENGTH = 39
