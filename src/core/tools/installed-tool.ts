import { asFields, asObjects, asText, type Fields, fieldsOrNone } from '../kubernetes/json.ts'
import { quote } from '../text/quote.ts'
import {
  IMAGE_VOLUME,
  type InstallerContainer,
  RESULTS_PATH,
  TOOL_VOLUME,
  type Tool,
  VOLUME_PATH,
} from './tool.ts'

/** The variable that only the observer of a tool has. */
export const SIZE_VARIABLE = 'RIDEALONG_TOOL_SIZE_LIMIT'

/** The variable that only the observer of a tool has that is mounted from its image. */
export const MOUNTS_VARIABLE = 'RIDEALONG_TOOL_MOUNTS'

/**
 * The parts of a tool in a pod's spec. They are found by the volume of the observer's results, so
 * that it does not matter how many tools an installer installs.
 */
interface InstalledTool {
  /** The mount of the results in the observer. */
  readonly results: Fields
  /** The init container with the whole volume. */
  readonly installer: Fields | undefined
  /** The volume of the pod that is the tool's image. */
  readonly imageVolume: Fields | undefined
  /** The container that may write the results. */
  readonly target: Fields | undefined
}

/** Finds the tool of an observer; undefined if the observer does not have the results of a tool. */
export function findTool(spec: Fields, observer: Fields): InstalledTool | undefined {
  const results = asObjects(observer.volumeMounts).find(({ name, mountPath }) => {
    return mountPath === RESULTS_PATH && asText(name)?.startsWith(TOOL_VOLUME)
  })
  if (results === undefined) return undefined
  const isInstaller = hasMount(({ name, mountPath }) => {
    return name === results.name && mountPath === VOLUME_PATH
  })
  const isTarget = hasMount(({ name, mountPath, subPath, readOnly }) => {
    const isSame = name === results.name && subPath === results.subPath
    return isSame && mountPath !== RESULTS_PATH && readOnly !== true
  })
  const init = asObjects(spec.initContainers)
  const files = imageVolumeName(results)
  return {
    results,
    installer: init.find(isInstaller),
    imageVolume: asObjects(spec.volumes).find(({ name, image }) => {
      return name === files && asFields(image) !== undefined
    }),
    target: [...asObjects(spec.containers), ...init].find(isTarget),
  }
}

/** Returns the name of the volume that is the image of a tool. */
function imageVolumeName(results: Fields): string {
  return IMAGE_VOLUME + (asText(results.name) ?? '').slice(TOOL_VOLUME.length)
}

function hasMount(isWanted: (mount: Fields) => boolean): (container: Fields) => boolean {
  return ({ volumeMounts }) => asObjects(volumeMounts).some(isWanted)
}

/**
 * Lists the missing parts of the tool of an observer, each as a clause. The guard, a
 * ValidatingAdmissionPolicy of the chart, checks the same conditions
 * (charts/ridealong/templates/guard.yaml). The result is empty if the observer has no tool.
 */
export function missingParts(spec: Fields, observer: Fields): readonly string[] {
  if (!asObjects(observer.env).some(({ name }) => name === SIZE_VARIABLE)) return []
  const found = findTool(spec, observer)
  if (found === undefined) return [`its mount at ${RESULTS_PATH} is missing`]
  return [
    ...(found.installer === undefined && found.imageVolume === undefined
      ? ['its tool has no init container that installs it, and no volume with its image']
      : []),
    ...(found.target === undefined ? ['no other container has the folder of its results'] : []),
  ]
}

/**
 * Compares the installer or the image volume, and the mounts of the tool of an observer with the
 * catalog.
 *
 * @param tool the tool of the catalog; undefined if the metric has none
 * @returns the first difference as a sentence without the final period
 */
export function toolDifference(
  tool: Tool | undefined,
  spec: Fields,
  observer: Fields,
): string | undefined {
  if (tool === undefined) return undefined
  const [missing] = missingParts(spec, observer)
  const name = `container ${asText(observer.name)}`
  if (missing !== undefined) return `${name}: ${missing}`
  const found = findTool(spec, observer)
  if (found?.target === undefined) return `${name} does not have the results of a tool`
  const { results, target } = found
  return sourceDifference(found, tool, name) ?? mountDifference(target, results, tool)
}

/** @param container the observer, for a message */
function sourceDifference(
  { installer, imageVolume }: InstalledTool,
  tool: Tool,
  container: string,
): string | undefined {
  if (tool.installer !== undefined) {
    return installer === undefined
      ? `${container}: the init container that installs its tool is missing`
      : installerDifference(installer, tool.installer)
  }
  if (imageVolume === undefined) return `${container}: the volume with its tool's image is missing`
  const volume = `volume ${quote(asText(imageVolume.name) ?? '')}`
  return imageDifference(volume, fieldsOrNone(imageVolume.image).reference, tool.imageVolume.image)
}

function imageDifference(owner: string, image: unknown, wanted: string): string | undefined {
  if (image === wanted) return undefined
  const found = asText(image) === undefined ? 'no image' : `image ${quote(String(image))}`
  return `${owner} has ${found} instead of the catalog's ${quote(wanted)}`
}

function installerDifference(
  { name, image, command, args }: Fields,
  wanted: InstallerContainer,
): string | undefined {
  const container = `init container ${quote(asText(name) ?? '')}`
  const otherImage = imageDifference(container, image, wanted.image)
  if (otherImage !== undefined) return otherImage
  const words = (list: unknown) => JSON.stringify(list ?? [])
  const isSame = words(command) === words(wanted.command) && words(args) === words(wanted.args)
  return isSame ? undefined : `${container} has another command than the catalog's installer`
}

function mountDifference(target: Fields, results: Fields, tool: Tool): string | undefined {
  const files = tool.installer === undefined ? imageVolumeName(results) : results.name
  const wanted = [
    ...tool.mounts.map((mount) => ({ name: files, ...mount, readOnly: true })),
    { name: results.name, ...tool.results, readOnly: false },
  ]
  const mounts = asObjects(target.volumeMounts)
  const lost = wanted.find(({ name, mountPath, subPath, readOnly }) => {
    const isSame = (mount: Fields) =>
      mount.name === name &&
      mount.mountPath === mountPath &&
      mount.subPath === subPath &&
      (mount.readOnly === true) === readOnly
    return !mounts.some(isSame)
  })
  if (lost === undefined) return undefined
  const container = `container ${quote(asText(target.name) ?? '')}`
  return `${container} does not have the tool's mount at ${lost.mountPath}`
}
